/** Between the threads calls and replies travel as JSON text: cloning objects costs several times as much. */
interface ThreadCall<Request> {
  readonly id: number;
  readonly request: Request;
}
type ThreadReply =
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  | { readonly id: number; readonly ok: false; readonly message: string };

/** Calls of a worker thread that answers with `answerCalls`. The thread does not keep the process alive. */
export class ThreadCalls<Request> {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  #nextId = 0;
  #ended: string | undefined;

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.unref();
    // Only this program's own worker writes here.
    worker.onmessage = ({ data }: MessageEvent<string>) => this.#answered(JSON.parse(data) as ThreadReply);
    worker.onerror = (event) => this.#end(event.message);
    worker.addEventListener("close", () => this.#end("the thread ended"));
  }

  /** Rejects with the message of what the thread threw, or with why the thread has ended. */
  call<T>(request: Request): Promise<T> {
    if (this.#ended !== undefined) return Promise.reject(new Error(this.#ended));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      // The thread answers each call with what its name promises; both sides are compiled from the same types.
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      const call: ThreadCall<Request> = { id, request };
      this.#worker.postMessage(JSON.stringify(call));
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
    else waiter?.reject(new Error(reply.message));
  }

  #end(why: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = why;
    for (const { reject } of this.#waiting.values()) reject(new Error(why));
    this.#waiting.clear();
  }
}

/** The worker thread that `answerCalls` runs in. */
declare const self: Worker;

/** In a worker thread: answers each call of `ThreadCalls` with what `run` returns, or with the message of what it throws. */
export function answerCalls<Request>(run: (request: Request) => unknown): void {
  self.onmessage = ({ data }: MessageEvent<string>) => {
    // Only `ThreadCalls` of the same type writes here.
    const { id, request } = JSON.parse(data) as ThreadCall<Request>;
    let reply: ThreadReply;
    try {
      reply = { id, ok: true, value: run(request) };
    } catch (error) {
      reply = { id, ok: false, message: error instanceof Error ? error.message : String(error) };
    }
    self.postMessage(JSON.stringify(reply));
  };
}
