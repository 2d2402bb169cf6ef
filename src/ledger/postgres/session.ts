import { integerLiteral } from "#db/postgres.ts";
import { type UtcDay, utcDayOf } from "#platform/time.ts";

const batchLimits = `SET LOCAL lock_timeout = '400ms'; SET LOCAL statement_timeout = '900ms';
SET LOCAL idle_in_transaction_session_timeout = '2s'`;

/** What all messages of a node share: how a transaction begins, and the database's clock. */
export class PostgresSession {
  readonly #clockOffsetMs: () => number;
  #begin = `BEGIN ISOLATION LEVEL READ COMMITTED; ${batchLimits}`;
  #day: UtcDay = "";

  constructor(clockOffsetMs: () => number) {
    this.#clockOffsetMs = clockOffsetMs;
  }

  /** The first statements of a transaction that writes. */
  get begin(): string {
    return this.#begin;
  }

  /** The newest day that the database's clock has shown. */
  get day(): UtcDay {
    return this.#day;
  }

  /** For a database that answers before a commit is on disk: from now on it is asked to wait for the commits of this node. */
  waitForDisk(): void {
    this.#begin += "; SET LOCAL synchronous_commit = 'on'";
  }

  /** The database's clock in milliseconds, as SQL: when the transaction began. */
  now(): string {
    return `(CAST(floor(extract(epoch FROM now()) * 1000) AS bigint) + ${integerLiteral(Math.round(this.#clockOffsetMs()))})`;
  }

  /** The day of the database's clock; it never goes backwards here, should the database move to a host that is behind. */
  today(nowMs: number): UtcDay {
    const day = utcDayOf(nowMs);
    if (day > this.#day) this.#day = day;
    return this.#day;
  }
}
