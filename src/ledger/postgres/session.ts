import { integerLiteral, type PostgresRow, textLiteral } from "#db/postgres.ts";
import type { LostCommits } from "#ledger/ledger.ts";
import { type SeenPosition, StorePosition } from "#ledger/lost-commits.ts";
import type { NodeIdentity } from "#ledger/rules/rows.ts";
import { type UtcDay, utcDayOf } from "#platform/time.ts";
import { numberOf } from "./write-message.ts";

type Ask = (sql: string) => Promise<readonly PostgresRow[][]>;

/** How many standbys the server has, where commits wait for none of them; 0 where it does not tell. One that may not be looked at counts. */
export async function asynchronousStandbysOf(ask: Ask): Promise<number> {
  const sql = `SELECT count(*) AS standbys FROM pg_stat_replication
    WHERE current_setting('synchronous_standby_names') = '' AND coalesce(state, 'streaming') = 'streaming'
      AND coalesce(application_name, '') NOT IN ('pg_basebackup', 'pg_receivewal')`;
  const [[row] = []] = await ask(sql).catch(() => []);
  return Number(row?.["standbys"] ?? 0);
}

/** What fail-overs of the last days have cost all nodes; undefined where nothing was lost, or the schema is older. */
export async function lostCommitsOf(ask: Ask, days: number): Promise<LostCommits | undefined> {
  const sql = `SELECT sum(batches) AS batches, sum(restored) AS restored, string_agg(DISTINCT nullif(silent, ''), ', ') AS silent
    FROM lost_commits WHERE at_ms > extract(epoch FROM now()) * 1000 - ${days * 86_400_000} HAVING count(*) > 0`;
  const [[row] = []] = await ask(sql).catch(() => []);
  if (row === undefined) return undefined;
  const silent = String(row["silent"] ?? "").split(", ");
  return { batches: Number(row["batches"]), restored: Number(row["restored"]), silent: silent.filter(Boolean) };
}

/** The timeline of a server, of which each fail-over begins a new one. */
const timelineSql = "substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)";

const limits = { lock_timeout: "400ms", statement_timeout: "900ms", idle_in_transaction_session_timeout: "2s" };
/**
 * An answer means that the commit is on disk: a database that is set to answer earlier is asked to wait for this one.
 * Looked at in each transaction, as the setting can change at any time.
 */
const durability = `set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
  ELSE current_setting('synchronous_commit') END, true)`;

/** What all messages of a node share: how a transaction that writes begins, the database's clock, and where the node stands in it. */
export class PostgresSession {
  readonly begin = [
    "BEGIN ISOLATION LEVEL READ COMMITTED",
    `SELECT ${Object.entries(limits).map(([name, value]) => `set_config('${name}', '${value}', true)`)}, ${durability}`,
  ];
  /** The newest day that the database's clock has shown. */
  day: UtcDay = "";
  /** Whose shares this node reserves from. */
  slot = 0;
  nodeId = "";
  /** SQL of the server's timeline; a constant where the engine has none. */
  timeline = "''";
  readonly position = new StorePosition();
  #sent = 0;
  readonly #clockOffsetMs: () => number;

  constructor(clockOffsetMs: () => number) {
    this.#clockOffsetMs = clockOffsetMs;
  }

  /** The database's clock in milliseconds, as SQL: when the transaction began. */
  now(): string {
    return `(CAST(floor(extract(epoch FROM now()) * 1000) AS bigint) + ${integerLiteral(Math.round(this.#clockOffsetMs()))})`;
  }

  /** Whether the engine has timelines is found out by asking for it. */
  async findTimeline(ask: (sql: string) => Promise<unknown>): Promise<void> {
    const found = await ask(`SELECT ${timelineSql}`).catch(() => undefined);
    if (found !== undefined) this.timeline = timelineSql;
  }

  /** The day of the database's clock; it never goes backwards here, should the database move to a host that is behind. */
  today(nowMs: number): UtcDay {
    const day = utcDayOf(nowMs);
    if (day > this.day) this.day = day;
    return this.day;
  }

  /** Reads the clock, and whether the server has all that was acknowledged. */
  get timeSql(): string {
    return `SELECT ${this.now()} AS now_ms, ${this.timeline} AS timeline, n.epoch, n.last_batch
      FROM (SELECT 1) AS one LEFT JOIN node n ON n.id = ${textLiteral(this.nodeId)}`;
  }

  /** The clock of its answer. Throws where the server lacks commits. */
  check(node: NodeIdentity, row: PostgresRow, acknowledged = this.position.acknowledged): number {
    if (node.id === this.nodeId) this.position.check(node, seenIn(row), acknowledged);
    return numberOf(row, "now_ms");
  }

  /** SQL that numbers a batch of this node, to be written with it. */
  nextBatch({ id, epoch }: NodeIdentity): string {
    this.#sent = Math.max(this.#sent, this.position.acknowledged) + 1;
    return `UPDATE node SET last_batch = ${this.#sent} WHERE id = ${textLiteral(id)} AND epoch = ${epoch}`;
  }

  /** The batch numbered last is durable. */
  acknowledged(): void {
    this.position.acknowledged = this.#sent;
  }
}

/** As `timeSql` reads it. */
export function seenIn(row: PostgresRow): SeenPosition {
  const own = row["epoch"] == null ? {} : { epoch: numberOf(row, "epoch"), lastBatch: numberOf(row, "last_batch") };
  return { timeline: String(row["timeline"]), ...own };
}
