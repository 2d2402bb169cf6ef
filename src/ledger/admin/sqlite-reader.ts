/** Between the threads both travel as JSON text. */
export type ReadRequest =
  | { readonly call: "open"; readonly path: string }
  | { readonly call: "read"; readonly sql: string; readonly values: readonly (string | number | null)[] };
export type ReadReply =
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  | { readonly id: number; readonly ok: false; readonly message: string };

/** Reads an SQLite file in a thread of its own, so that long queries hold up no request of a gateway in this process. */
export class SqliteReader {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  #nextId = 0;
  #dead: string | undefined;

  /** Rejects when the file cannot be read. */
  static async open(path: string): Promise<SqliteReader> {
    const reader = new SqliteReader();
    try {
      await reader.#call({ call: "open", path });
      return reader;
    } catch (error) {
      reader.close();
      throw error;
    }
  }

  private constructor() {
    this.#worker = new Worker(new URL("./sqlite-reader-worker.ts", import.meta.url), { name: "ledger reader" });
    // Nobody waits for a look at the ledger at the end of the process.
    this.#worker.unref();
    // Only this program's own worker writes here.
    this.#worker.onmessage = ({ data }: MessageEvent<string>) => this.#answered(JSON.parse(data) as ReadReply);
    this.#worker.onerror = (event) => this.#died(event.message);
    this.#worker.addEventListener("close", () => this.#died("the thread ended"));
  }

  async read(sql: string, values: readonly (string | number | null)[]): Promise<readonly Record<string, unknown>[]> {
    const rows = await this.#call({ call: "read", sql, values });
    return rows as readonly Record<string, unknown>[]; // what the worker answers to `read`
  }

  close(): void {
    this.#died("the reader is closed");
    this.#worker.terminate();
  }

  #call(request: ReadRequest): Promise<unknown> {
    if (this.#dead !== undefined) return Promise.reject(new Error(this.#dead));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage(JSON.stringify({ id, request }));
    });
  }

  #answered(reply: ReadReply): void {
    const waiter = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (reply.ok) waiter?.resolve(reply.value);
    else waiter?.reject(new Error(reply.message));
  }

  #died(message: string): void {
    if (this.#dead !== undefined) return;
    this.#dead = message;
    for (const { reject } of this.#waiting.values()) reject(new Error(message));
    this.#waiting.clear();
  }
}
