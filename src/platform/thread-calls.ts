/** Between the threads calls and replies travel as JSON text: cloning objects costs several times as much. */
interface ThreadCall<Request> {
  readonly id: number;
  readonly request: Request;
}
type ThreadReply =
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  | { readonly id: number; readonly ok: false; readonly message: string; readonly kind?: string };

export interface ThreadOptions {
  /** The error that a call rejects with; `kind` is absent where the thread itself has ended. An `Error` when absent. */
  readonly errorOf?: (message: string, kind: string | undefined) => Error;
  /** Whether the thread keeps the process alive; false when absent. */
  readonly keepsAlive?: boolean;
}

/** Calls of a worker thread that answers with `answerCalls`. */
export class ThreadCalls<Request> {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  #nextId = 0;
  readonly #errorOf: NonNullable<ThreadOptions["errorOf"]>;
  #ended: string | undefined;

  constructor(worker: Worker, { errorOf = (message) => new Error(message), keepsAlive = false }: ThreadOptions = {}) {
    this.#worker = worker;
    this.#errorOf = errorOf;
    if (!keepsAlive) worker.unref();
    // Only this program's own worker writes here.
    worker.onmessage = ({ data }: MessageEvent<string>) => this.#answered(JSON.parse(data) as ThreadReply);
    worker.onerror = (event) => this.#end(event.message);
    worker.addEventListener("close", () => this.#end("the thread ended"));
  }

  /**
   * Rejects with the message of what the thread threw, or with why the thread has ended. `cloned`: for long texts,
   * whose copy costs a fifth of their JSON.
   */
  call<T>(request: Request, cloned = false): Promise<T> {
    if (this.#ended !== undefined) return Promise.reject(this.#errorOf(this.#ended, undefined));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      // The thread answers each call with what its name promises; both sides are compiled from the same types.
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      const call: ThreadCall<Request> = { id, request };
      this.#worker.postMessage(cloned ? call : JSON.stringify(call));
    });
  }

  /** Ends the thread. Calls under way and later ones reject with `why`. */
  terminate(why: string): void {
    this.#end(why);
    this.#worker.terminate();
  }

  #answered(reply: ThreadReply): void {
    const waiter = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (reply.ok) waiter?.resolve(reply.value);
    else waiter?.reject(this.#errorOf(reply.message, reply.kind));
  }

  #end(why: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = why;
    for (const { reject } of this.#waiting.values()) reject(this.#errorOf(why, undefined));
    this.#waiting.clear();
  }
}

/** The worker thread that `answerCalls` runs in. */
declare const self: Worker;

/**
 * In a worker thread: answers each call of `ThreadCalls` with what `run` returns, or with the message of what it throws
 * and what `kindOf` says of it.
 */
export function answerCalls<Request>(
  run: (request: Request) => unknown,
  kindOf?: (error: unknown) => string | undefined,
): void {
  self.onmessage = ({ data }: MessageEvent<string | ThreadCall<Request>>) => {
    // Only `ThreadCalls` of the same type writes here.
    const { id, request } = typeof data === "string" ? (JSON.parse(data) as ThreadCall<Request>) : data;
    let reply: ThreadReply;
    try {
      reply = { id, ok: true, value: run(request) };
    } catch (error) {
      const kind = kindOf?.(error);
      const message = error instanceof Error ? error.message : String(error);
      reply = { id, ok: false, message, ...(kind === undefined ? {} : { kind }) };
    }
    self.postMessage(JSON.stringify(reply));
  };
}
