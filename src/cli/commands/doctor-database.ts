import { Database } from "bun:sqlite";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { ownCommand } from "#config/settings.ts";
import { inMemoryPath } from "#db/database-url.ts";
import { PostgresConnection } from "#db/postgres.ts";
import { formatUsd } from "#domain/money/money.ts";
import { type LedgerReader, openLedgerReader } from "#ledger/admin/open-ledger-admin.ts";
import { differenceOf, isNotable } from "#ledger/reconcile/reconciliation.ts";
import { dayAccountOf } from "#ledger/rules/accounts.ts";
import { type Check, checkClock, errorCode, fail, ok, warn } from "./doctor-check.ts";

/** How long the database may be locked before that is reported. */
const lockedMs = 2_000;

/** Whether a gateway can use the SQLite file, or make it. */
export function checkSqlite(path: string): Check {
  if (path === inMemoryPath) {
    return warn("database", "in memory: what was spent is forgotten at exit", "set DATABASE_URL to sqlite:<path>");
  }
  const full = resolve(path);
  let directory = dirname(full);
  while (!existsSync(directory) && directory !== dirname(directory)) directory = dirname(directory);
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    if (!existsSync(full)) return ok("database", `${full} will be created`);
    accessSync(full, constants.R_OK | constants.W_OK);
    using db = new Database(full, { readwrite: true, create: false });
    db.run(`PRAGMA busy_timeout = ${lockedMs}`);
    const { journal_mode: mode } = db.query<{ journal_mode: string }, []>("PRAGMA journal_mode").get() ?? {};
    db.query("SELECT count(*) FROM sqlite_master").get();
    // A gateway holds the lock for milliseconds. Nothing is written.
    db.run("BEGIN IMMEDIATE");
    db.run("ROLLBACK");
    // What was written last is in the write-ahead log until SQLite moves it into the file.
    const bytes = statSync(full).size + (statSync(`${full}-wal`, { throwIfNoEntry: false })?.size ?? 0);
    return ok("database", `${full}, ${(bytes / 1_048_576).toFixed(1)} MiB, journal ${mode ?? "unknown"}`);
  } catch (error) {
    return sqliteFailure(full, errorCode(error));
  }
}

function sqliteFailure(file: string, code: string): Check {
  if (code.startsWith("SQLITE_BUSY")) {
    const detail = `${file} was locked by another process for ${lockedMs / 1_000} s`;
    return fail(
      "database",
      detail,
      "end its transaction: `fuser` names the process, often a shell or a backup program",
    );
  }
  const isDamaged = code.startsWith("SQLITE_CORRUPT") || code.startsWith("SQLITE_NOTADB");
  const advice = isDamaged
    ? "it is damaged, or no SQLite database: restore a backup (docs/operating.md), or set DATABASE_URL to another file"
    : "check its permissions, or set DATABASE_URL to another file";
  return fail("database", `${file} cannot be used: ${code}`, advice);
}

export async function checkPostgres(url: string): Promise<Check[]> {
  const connection = new PostgresConnection(url, 5_000);
  try {
    const before = Date.now();
    const [rows] = await connection.run(
      "SELECT current_setting('server_version') AS version, (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS ms",
    );
    const after = Date.now();
    const row = rows?.[0];
    if (row === undefined) throw new Error("no answer");
    return [
      ok("database", `PostgreSQL ${String(row["version"])}, answered in ${after - before} ms`),
      checkClock(Number(row["ms"]) - (before + after) / 2, "the database's"),
    ];
  } catch (error) {
    const advice = "check DATABASE_URL, that the server runs, and that this machine may reach it";
    return [fail("database", `PostgreSQL does not answer: ${errorCode(error)}`, advice)];
  } finally {
    await connection.close();
  }
}

/**
 * Checks open holds of ended gateways and of unknown outcome, and the ledger against the aggregator's count of today (nano-USD;
 * undefined where unknown). Changes nothing. Empty where there is no ledger yet.
 */
export async function checkMoney(databaseUrl: string, counted: number | undefined): Promise<Check[]> {
  let reader: LedgerReader | undefined;
  try {
    reader = await openLedgerReader(databaseUrl);
    if (reader === undefined) return [];
    return [await checkHolds(reader), ...(counted === undefined ? [] : [await checkCount(reader, counted)])];
  } catch {
    return []; // problems with the database are reported by a check of their own
  } finally {
    await reader?.close();
  }
}

async function checkHolds(reader: LedgerReader): Promise<Check> {
  const { totals } = await reader.holds({ limit: 1, charged: true });
  const texts = totals.map(({ state, count, amount }) => `${count} ${state} (${formatUsd(amount)} USD)`);
  const detail = texts.length === 0 ? "nothing is held or unresolved" : `holds: ${texts.join(", ")}`;
  const states = totals.map(({ state }) => state);
  const command = ownCommand(process.env);
  if (states.includes("unresolved")) {
    const advice = `\`${command} budgets holds\` lists the unresolved; each is charged in full unless \`budgets settle\` or \`budgets release\` ends it`;
    return warn("money", detail, advice);
  }
  if (!states.includes("orphaned")) return ok("money", detail);
  const advice = `a running gateway takes over those of a gateway that has died within a minute; \`${command} budgets holds\` lists them`;
  return warn("money", detail, advice);
}

async function checkCount(reader: LedgerReader, aggregatorSpent: number): Promise<Check> {
  const day = await reader.today();
  const account = await reader.account(dayAccountOf(day));
  const ledgerSpent = account?.spent ?? 0;
  const counts = { day, ledgerSpent, ledgerHeld: account?.held ?? 0, aggregatorSpent, readMs: Date.now() };
  const detail = `today (UTC) the ledger has ${formatUsd(ledgerSpent)} USD, the aggregator ${formatUsd(aggregatorSpent)} USD (difference ${formatUsd(differenceOf(counts))})`;
  if (!isNotable(counts)) return ok("money", detail);
  const advice = `others may use the key too; \`${ownCommand(process.env)} budgets reconcile\` says more`;
  return warn("money", detail, advice);
}
