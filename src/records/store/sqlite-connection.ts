import type { WriteTransaction } from "#db/sql-writes.ts";
import type { SqlConnection, SqlRow } from "./sql-connection.ts";
import type { RecordsReply, RecordsRequest } from "./sqlite-worker.ts";

/**
 * The records in an SQLite file, read in a thread of their own. They are written over the ledger's connection where it lends
 * it (`writeBehind`): SQLite has one writer at a time, and a second connection would make the ledger wait and read its rows anew.
 * Rejects when the file cannot be opened.
 */
export async function sqliteRecords(path: string, writeBehind?: WriteTransaction): Promise<SqlConnection> {
  const thread = new RecordsThread();
  try {
    await thread.call({ call: "open", path, readOnly: writeBehind !== undefined });
  } catch (error) {
    thread.terminate();
    throw error;
  }
  return {
    kind: "sqlite",
    read: (sql, values = []) => thread.call<readonly SqlRow[]>({ call: "read", sql, values }),
    write: writeBehind ?? ((writes) => thread.call({ call: "write", writes })),
    async close() {
      await thread.call({ call: "close" }).catch(() => {}); // A thread that died has closed it.
      thread.terminate();
    },
  };
}

class RecordsThread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  #nextId = 0;
  #dead: string | undefined;

  constructor() {
    this.#worker = new Worker(new URL("./sqlite-worker.ts", import.meta.url), { name: "records" });
    // Nobody waits for records at the end of the process.
    this.#worker.unref();
    // Only this program's own worker writes here.
    this.#worker.onmessage = ({ data }: MessageEvent<string>) => this.#answered(JSON.parse(data) as RecordsReply);
    this.#worker.onerror = (event) => this.#died(event.message);
    this.#worker.addEventListener("close", () => this.#died("the thread ended"));
  }

  call<T>(request: RecordsRequest): Promise<T> {
    if (this.#dead !== undefined) return Promise.reject(new Error(this.#dead));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      // The worker answers each call with what its name promises.
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.#worker.postMessage(JSON.stringify({ id, request }));
    });
  }

  terminate(): void {
    this.#died("the records are closed");
    this.#worker.terminate();
  }

  #answered(reply: RecordsReply): void {
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
