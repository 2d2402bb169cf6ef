import { Database } from "bun:sqlite";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Settings } from "#config/settings.ts";
import { inMemoryPath } from "#db/database-url.ts";
import { PostgresConnection } from "#db/postgres.ts";
import { dollarText } from "#domain/money/money.ts";
import { asynchronousStandbysOf, lostCommitsOf } from "#ledger/postgres/session.ts";
import { lostCommitsText } from "#operator/alerts.ts";
import { systemClock } from "#platform/system-clock.ts";
import { timerWheel } from "#platform/timers.ts";
import { getJson, type KeyUsage, readKeyUsage, spentInDay } from "#upstream/aggregator.ts";

/** `warn`: it works, but not as it should. `fail`: the gateway cannot start or keep its promises. */
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
      ? "it is damaged, or no SQLite database: restore a backup, or set DATABASE_URL to another file"
      : "check its permissions, or set DATABASE_URL to another file";
    return fail("database", `${full} cannot be used: ${code}`, advice);
  }
}

export async function checkPostgres(url: string): Promise<readonly Check[]> {
  const connection = new PostgresConnection(url, 5_000);
  try {
    const before = Date.now();
    const [rows] = await connection.run("SELECT current_setting('server_version') AS version");
    const found = `PostgreSQL ${String(rows?.[0]?.["version"])}, answered in ${Date.now() - before} ms`;
    return [ok("database", found), ...(await checkDurability(connection))];
  } catch (error) {
    const advice = "check DATABASE_URL, that the server runs, and that this machine may reach it";
    return [fail("database", `PostgreSQL does not answer: ${errorCode(error)}`, advice)];
  } finally {
    await connection.close();
  }
}

/** Losses are shown for so long. */
const lostCommitsDays = 7;

/** Whether a fail-over can lose commits, and has. What this server or its schema does not tell is no finding. */
async function checkDurability(connection: PostgresConnection): Promise<readonly Check[]> {
  const ask = (sql: string) => connection.run(sql);
  const standbys = await asynchronousStandbysOf(ask);
  const lost = await lostCommitsOf(ask, lostCommitsDays);
  const checks: Check[] = [];
  if (standbys > 0) {
    const detail = `commits wait for none of ${standbys} standbys: a fail-over can lose acknowledged ones`;
    checks.push(warn("database", detail, "set synchronous_standby_names (docs/operating.md, clusters)"));
  }
  if (lost !== undefined) {
    const detail = `in the last ${lostCommitsDays} days it ${lostCommitsText(lost)}`;
    checks.push(warn("database", detail, "compare with the aggregator: `budgets reconcile`"));
  }
  return checks;
}

const timing = { clock: systemClock, timers: timerWheel({ clock: systemClock }), timeoutMs: 8_000 };

type Aggregator = Settings["upstream"] & { readonly kind: "aggregator" };

/**
 * With the HTTP client, proxies and certificates of calls, and without cost. Servers without a page about the key
 * mostly require a key for their list of models.
 */
export async function checkUpstream({ baseUrl, apiKey }: Aggregator): Promise<readonly Check[]> {
  const address = { baseUrl, ...(apiKey === undefined ? {} : { apiKey }), ...timing };
  const usage = apiKey === undefined ? undefined : await readKeyUsage({ ...address, apiKey });
  const hasPage = usage !== undefined && usage.kind !== "unknown_page";
  const reply = hasPage ? usage : await getJson({ ...address, maxBytes: 32 * 1_048_576 }, "/models");
  if (reply.kind === "failed") {
    const advice = "check UPSTREAM_BASE_URL, the network, and any proxy";
    return [fail("upstream", `${baseUrl}: ${reply.detail}`, advice)];
  }
  const answers = ok("upstream", `${baseUrl} answers`);
  if ("usage" in reply) return [answers, checkKey(reply.usage)];
  const status = "status" in reply ? reply.status : 200;
  if (reply.kind === "refused" || status === 401 || status === 403) {
    const advice = "set UPSTREAM_API_KEY to a key of this aggregator that is in force";
    return [answers, fail("key", `the upstream does not accept the key (${status})`, advice)];
  }
  return [answers, ...(apiKey === undefined ? [] : [ok("key", "not refused; this upstream tells no more about it")])];
}

function checkKey(usage: KeyUsage): Check {
  const { limitRemaining: left } = usage;
  const limit = left === undefined ? "no limit" : `${dollarText(left)} left of its limit`;
  const detail = `accepted; ${dollarText(spentInDay(usage))} spent with it today (UTC), ${limit}`;
  if (left === undefined || left > 0) return ok("key", detail);
  return warn("key", detail, "raise the key's limit at the aggregator: paid calls are refused");
}
