import { isConnectionUnusable, PostgresConnection, type PostgresRow, sqlStateOf } from "#db/postgres.ts";
import { StoreFailure } from "#ledger/store.ts";

/** Sends a message; answers the rows of each of its statements. */
export type Send = (statements: string, limitMs?: number) => Promise<readonly PostgresRow[][]>;

/** A connection of the ledger: one piece of work at a time, and its errors as what they mean for the ledger. */
export class LedgerConnection {
  readonly #connection: PostgresConnection;
  readonly #onReadOnly: () => void;
  #last: Promise<unknown> = Promise.resolve();

  /** `onReadOnly`: called when the server takes no writes any more. */
  constructor(url: string, answerLimitMs: number, onReadOnly: () => void) {
    this.#connection = new PostgresConnection(url, answerLimitMs);
    this.#onReadOnly = onReadOnly;
  }

  /** Work of one or several messages, with nothing of others in between. A transaction that it leaves open when it fails is rolled back. */
  run<T>(work: (send: Send) => Promise<T>): Promise<T> {
    const send: Send = (statements, limitMs) => this.#connection.run(statements, limitMs);
    const done = this.#last.then(() => work(send)).catch((error: unknown) => this.#failed(error));
    this.#last = done.catch(() => {}); // The caller handles the failure; the next message only waits.
    return done;
  }

  /** One message; the rows of its last `count` statements. */
  ask(statements: string, count: number, limitMs?: number): Promise<PostgresRow[][]> {
    return this.run(async (send) => lastAnswers(await send(statements, limitMs), count));
  }

  drop(): void {
    this.#connection.drop();
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #failed(error: unknown): Promise<never> {
    const state = sqlStateOf(error);
    if (error instanceof StoreFailure || !isConnectionUnusable(error)) {
      await this.#connection.run("ROLLBACK").catch(() => this.#connection.drop());
    } else {
      this.#connection.drop();
      if (state === "25006") this.#onReadOnly();
    }
    if (error instanceof StoreFailure) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new StoreFailure(kindOf(state), state === undefined ? message : `${state}: ${message}`, { cause: error });
  }
}

export function lastAnswers(answers: readonly PostgresRow[][], count: number): PostgresRow[][] {
  return Array.from({ length: count }, (_, i) => answers[answers.length - count + i] ?? []);
}

function kindOf(state: string | undefined): StoreFailure["kind"] {
  // 22: bad data, also the division by zero of a row count that is not as expected. 23: a constraint.
  if (/^2[23]/.test(state ?? "")) return "conflict";
  return isMissingSchema(state) ? "lost" : "transient";
}

/** No such table, schema or database, though they were there when the node joined. */
export function isMissingSchema(state: string | undefined): boolean {
  return state === "42P01" || state === "3F000" || state === "3D000";
}
