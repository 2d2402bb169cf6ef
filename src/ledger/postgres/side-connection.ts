import { isConnectionUnusable, PostgresConnection, type PostgresRow, sqlStateOf } from "#db/postgres.ts";
import { StoreFailure } from "#ledger/store.ts";
import { isMissingSchema } from "./failures.ts";

/** The connection for everything but batches, so that upkeep and reads never come between the two messages of a batch. */
export class SideConnection {
  readonly #connection: PostgresConnection;
  #last: Promise<unknown> = Promise.resolve();

  constructor(url: string, answerLimitMs: number) {
    this.#connection = new PostgresConnection(url, answerLimitMs);
  }

  /** Sends one message at a time; the rows of its last `count` statements. Rejects with a StoreFailure. */
  ask(statements: string, count: 1, limitMs?: number): Promise<[PostgresRow[]]>;
  ask(statements: string, count: 2, limitMs?: number): Promise<[PostgresRow[], PostgresRow[]]>;
  ask(statements: string, count: 3, limitMs?: number): Promise<[PostgresRow[], PostgresRow[], PostgresRow[]]>;
  ask(
    statements: string,
    count: 4,
    limitMs?: number,
  ): Promise<[PostgresRow[], PostgresRow[], PostgresRow[], PostgresRow[]]>;
  ask(statements: string, count: number, limitMs?: number): Promise<PostgresRow[][]>;
  ask(statements: string, count: number, limitMs?: number): Promise<PostgresRow[][]> {
    const rows = this.#last.then(async () => {
      try {
        const answers = await this.#connection.run(statements, limitMs);
        return Array.from({ length: count }, (_, i) => [...(answers[answers.length - count + i] ?? [])]);
      } catch (error) {
        if (isConnectionUnusable(error)) this.#connection.drop();
        else await this.#connection.run("ROLLBACK").catch(() => this.#connection.drop());
        const kind = isMissingSchema(sqlStateOf(error)) ? "lost" : "transient";
        throw new StoreFailure(kind, error instanceof Error ? error.message : String(error), { cause: error });
      }
    });
    this.#last = rows.catch(() => {}); // The caller handles the failure; the next message only waits.
    return rows;
  }

  drop(): void {
    this.#connection.drop();
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}
