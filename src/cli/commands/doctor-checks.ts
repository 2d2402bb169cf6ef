import { Database } from "bun:sqlite";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { storedPrices } from "#cli/databases.ts";
import type { Aggregator } from "#cli/options.ts";
import type { Config } from "#config/load-config.ts";
import { ownCommand, type Settings } from "#config/settings.ts";
import { inMemoryPath } from "#db/database-url.ts";
import { PostgresConnection } from "#db/postgres.ts";
import { dollarText } from "#domain/money/dollar-text.ts";
import { openLedgerReader } from "#ledger/admin/open-ledger-admin.ts";
import { differenceOf, isNotable } from "#ledger/reconcile/key-usage-watch.ts";
import { dayAccountOf } from "#ledger/rules/accounts.ts";
import { updatedBook } from "#models/price-book/price-book.ts";
import { listingsIn } from "#models/price-book/price-list.ts";
import { systemClock } from "#platform/system-clock.ts";
import { timerWheel } from "#platform/timers.ts";
import { getJson, type KeyUsage, readKeyUsage, readModelList, spentInDay } from "#upstream/aggregator.ts";

/** The result of one check. `warn`: it works, but not as it should. `fail`: the gateway cannot start or keep its promises. */
export interface Check {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  readonly detail: string;
  readonly advice?: string;
}

export const ok = (name: string, detail: string): Check => ({ name, status: "ok", detail });
export const warn = (name: string, detail: string, advice: string): Check => ({ name, status: "warn", detail, advice });
export const fail = (name: string, detail: string, advice?: string): Check =>
  advice === undefined ? { name, status: "fail", detail } : { name, status: "fail", detail, advice };

/** How far this clock is ahead of another. Days and deadlines depend on it. */
function checkClock(aheadMs: number, whose: string): Check {
  const detail = `this clock and ${whose} differ by ${(Math.abs(aheadMs) / 1_000).toFixed(1)} s`;
  const advice = "days and deadlines depend on it: run an NTP client on both";
  return Math.abs(aheadMs) < 5_000 ? ok("clock", detail) : warn("clock", detail, advice);
}

/** The code of an error; its message may hold a connection string. */
export function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return "unknown error";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

/** How long the database may be locked before that is reported. */
const lockedMs = 2_000;

/** Whether a gateway can use the SQLite file, or make it. Nothing is written. */
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
    db.query("SELECT count(*) FROM sqlite_master").get();
    // A gateway holds the lock for milliseconds.
    db.run("BEGIN IMMEDIATE");
    db.run("ROLLBACK");
    // What was written last is in the write-ahead log until SQLite moves it into the file.
    const bytes = statSync(full).size + (statSync(`${full}-wal`, { throwIfNoEntry: false })?.size ?? 0);
    return ok("database", `${full}, ${(bytes / 1_048_576).toFixed(1)} MiB`);
  } catch (error) {
    const code = errorCode(error);
    if (code.startsWith("SQLITE_BUSY")) {
      const advice = "end its transaction: `fuser` names the process, often a shell or a backup program";
      return fail("database", `${full} was locked by another process for ${lockedMs / 1_000} s`, advice);
    }
    const advice = /^SQLITE_(?:CORRUPT|NOTADB)/.test(code)
      ? "it is damaged, or no SQLite database: restore a backup (docs/operating.md), or set DATABASE_URL to another file"
      : "check its permissions, or set DATABASE_URL to another file";
    return fail("database", `${full} cannot be used: ${code}`, advice);
  }
}

export async function checkPostgres(url: string): Promise<readonly Check[]> {
  const connection = new PostgresConnection(url, 5_000);
  try {
    const before = Date.now();
    const [rows] = await connection.run(
      "SELECT current_setting('server_version') AS version, (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS ms",
    );
    const after = Date.now();
    return [
      ok("database", `PostgreSQL ${String(rows?.[0]?.["version"])}, answered in ${after - before} ms`),
      checkClock(Number(rows?.[0]?.["ms"]) - (before + after) / 2, "the database's"),
    ];
  } catch (error) {
    const advice = "check DATABASE_URL, that the server runs, and that this machine may reach it";
    return [fail("database", `PostgreSQL does not answer: ${errorCode(error)}`, advice)];
  } finally {
    await connection.close();
  }
}

/**
 * Checks holds that nobody ends, and the ledger against the aggregator's count of today (nano-USD; undefined where unknown).
 * Changes nothing. Empty where there is no ledger yet, or where it cannot be read: that has a check of its own.
 */
export async function checkMoney(databaseUrl: string, counted: number | undefined): Promise<readonly Check[]> {
  const reader = await openLedgerReader(databaseUrl).catch(() => undefined);
  if (reader === undefined) return [];
  try {
    const command = ownCommand(process.env);
    const { totals } = await reader.holds({ limit: 1, charged: true });
    const texts = totals.map(({ state, count, amount }) => `${count} ${state} (${dollarText(amount)})`);
    const detail = texts.length === 0 ? "nothing is held or unresolved" : `holds: ${texts.join(", ")}`;
    const advice = `\`${command} budgets holds\` lists them; the unresolved are charged in full unless \`budgets settle\` or \`budgets release\` ends them`;
    const stuck = totals.some(({ state }) => state === "unresolved" || state === "orphaned");
    const holds = stuck ? warn("money", detail, advice) : ok("money", detail);
    if (counted === undefined) return [holds];
    const day = await reader.today();
    const { spent = 0, held = 0 } = (await reader.account(dayAccountOf(day))) ?? {};
    const counts = { day, ledgerSpent: spent, ledgerHeld: held, aggregatorSpent: counted, readMs: Date.now() };
    const both = `today (UTC) the ledger has ${dollarText(spent)}, the aggregator ${dollarText(counted)} (difference ${dollarText(differenceOf(counts))})`;
    const others = `others may use the key too; \`${command} budgets reconcile\` says more`;
    return [holds, isNotable(counts) ? warn("money", both, others) : ok("money", both)];
  } catch {
    return []; // as for one that cannot be opened
  } finally {
    await reader.close();
  }
}

const timing = { clock: systemClock, timers: timerWheel({ clock: systemClock }), timeoutMs: 8_000 };

export interface UpstreamChecks {
  readonly checks: readonly Check[];
  /** What the aggregator has counted for the key, where it tells. */
  readonly usage?: KeyUsage;
}

/**
 * Checks whether the upstream can be reached and accepts the key: with the HTTP client, proxies and certificates that calls use,
 * without a call that costs anything. Servers without a page about the key mostly require a key for their list of models.
 */
export async function checkUpstream({ baseUrl, apiKey }: Aggregator): Promise<UpstreamChecks> {
  const address = { baseUrl, ...(apiKey === undefined ? {} : { apiKey }), ...timing };
  const usage = apiKey === undefined ? undefined : await readKeyUsage({ ...address, apiKey });
  const hasPage = usage !== undefined && usage.kind !== "unknown_page";
  const begunMs = Date.now();
  const reply = hasPage ? usage : await getJson({ ...address, maxBytes: 32 * 1_048_576 }, "/models");
  if (reply.kind === "failed") {
    const advice = "check UPSTREAM_BASE_URL, the network, and any proxy";
    return { checks: [fail("upstream", `${baseUrl}: ${reply.detail}`, advice)] };
  }
  const theirs = Date.parse(reply.date ?? "");
  const checks = [
    ok("upstream", `${baseUrl} answers`),
    // The header has whole seconds: half a second is the best estimate of the fraction.
    ...(Number.isNaN(theirs) ? [] : [checkClock(theirs + 500 - (begunMs + Date.now()) / 2, "the upstream's")]),
  ];
  if ("usage" in reply) return { checks: [...checks, checkKey(reply.usage)], usage: reply.usage };
  const status = "status" in reply ? reply.status : 200;
  if (reply.kind === "refused" || status === 401 || status === 403) {
    const advice = "set UPSTREAM_API_KEY to a key of this aggregator that is in force";
    checks.push(fail("key", `the upstream does not accept the key (${status})`, advice));
  } else if (apiKey !== undefined) {
    checks.push(ok("key", "not refused; this upstream tells nothing more about it"));
  }
  return { checks };
}

function checkKey(usage: KeyUsage): Check {
  const { limitRemaining: left } = usage;
  const limit = left === undefined ? "no limit" : `${dollarText(left)} left of its limit`;
  const detail = `accepted; ${dollarText(spentInDay(usage))} spent with it today (UTC), ${limit}`;
  if (left === undefined || left > 0) return ok("key", detail);
  return warn("key", detail, "raise the key's limit at the aggregator: paid calls are refused");
}

/** Checks the registry's prices against the aggregator's list as it is now, and for ids that are gone, expire or mean another model. */
export async function checkPrices(settings: Settings, config: Config, baseUrl: string | undefined): Promise<Check> {
  const book = await storedPrices(settings, config.policy);
  if (book === undefined) return ok("prices", "those of the model registry; no list is read from this upstream");
  const reply = baseUrl === undefined ? undefined : await readModelList({ baseUrl, ...timing });
  if (reply?.kind !== "ok") {
    if (book.size === 0) return ok("prices", "the aggregator's list is read when a gateway starts");
    const readMs = Math.max(...[...book.values()].map(({ atMs }) => atMs));
    return ok("prices", `list last read ${new Date(readMs).toISOString()}`);
  }
  const models = [...config.registry.models.values()].filter(({ enabled }) => enabled);
  const listings = listingsIn(reply.list, new Map(models.map(({ upstreamId, free }) => [upstreamId, { free }])));
  const priced = models.filter(({ upstreamId }) => listings.get(upstreamId)?.price !== undefined);
  const { drifts } = updatedBook(book, listings, models, Date.now());
  const lines = [
    `${priced.length} of ${models.length} listed at a price now`,
    ...drifts.map(({ model, reason, detail }) => `${model}: ${reason.replaceAll("_", " ")}: ${detail}`),
  ];
  if (drifts.length === 0 && priced.length === models.length) return ok("prices", lines.join("\n"));
  return warn("prices", lines.join("\n"), `\`${ownCommand(process.env)} models sync\` shows the whole difference`);
}
