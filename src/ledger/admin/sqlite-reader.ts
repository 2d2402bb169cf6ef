import { ThreadCalls } from "#platform/threads/thread-calls.ts";

export type ReadRequest =
  | { readonly call: "open"; readonly path: string }
  | { readonly call: "read"; readonly sql: string; readonly values: readonly (string | number | null)[] };

/** Reads an SQLite file in a thread of its own, so that long queries hold up no request of a gateway in this process. */
export class SqliteReader {
  readonly #thread = new ThreadCalls<ReadRequest>(
    new Worker(new URL("./sqlite-reader-worker.ts", import.meta.url), { name: "ledger reader" }),
  );

  /** Rejects when the file cannot be read. */
  static async open(path: string): Promise<SqliteReader> {
    const reader = new SqliteReader();
    try {
      await reader.#thread.call({ call: "open", path });
      return reader;
    } catch (error) {
      reader.close();
      throw error;
    }
  }

  read(sql: string, values: readonly (string | number | null)[]): Promise<readonly Record<string, unknown>[]> {
    return this.#thread.call({ call: "read", sql, values });
  }

  close(): void {
    this.#thread.terminate("the reader is closed");
  }
}
