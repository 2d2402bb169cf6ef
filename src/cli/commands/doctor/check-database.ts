import { Database } from "bun:sqlite";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { PostgresConnection } from "#db/postgres.ts";
import { type Check, clockCheck, codeOf } from "./check.ts";

/** How long the database may be locked before that is reported. */
const lockedMs = 2_000;

/** Whether a gateway can use the SQLite file, or make it. */
export function checkSqlite(path: string): Check {
  if (path === ":memory:") {
    return {
      name: "database",
      status: "warn",
      detail: "in memory: what was spent is forgotten at exit",
      advice: "set DATABASE_URL to sqlite:<path>",
    };
  }
  const full = resolve(path);
  let directory = dirname(full);
  while (!existsSync(directory) && directory !== dirname(directory)) directory = dirname(directory);
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    if (!existsSync(full)) return { name: "database", status: "ok", detail: `${full} will be created` };
    accessSync(full, constants.R_OK | constants.W_OK);
    const db = new Database(full, { readwrite: true, create: false });
    try {
      db.run(`PRAGMA busy_timeout = ${lockedMs}`);
      const { journal_mode: mode } = db.query<{ journal_mode: string }, []>("PRAGMA journal_mode").get() ?? {};
      db.query("SELECT count(*) FROM sqlite_master").get();
      // A gateway holds the lock for milliseconds. Nothing is written.
      db.run("BEGIN IMMEDIATE");
      db.run("ROLLBACK");
      // What was written last is in the write-ahead log until SQLite moves it into the file.
      const bytes = statSync(full).size + (statSync(`${full}-wal`, { throwIfNoEntry: false })?.size ?? 0);
      const size = `${(bytes / 1_048_576).toFixed(1)} MiB`;
      return { name: "database", status: "ok", detail: `${full}, ${size}, journal ${mode ?? "unknown"}` };
    } finally {
      db.close();
    }
  } catch (error) {
    return { name: "database", status: "fail", ...failureOf(full, codeOf(error)) };
  }
}

function failureOf(file: string, code: string): { readonly detail: string; readonly advice: string } {
  if (code.startsWith("SQLITE_BUSY")) {
    const detail = `${file} was locked by another process for ${lockedMs / 1_000} s`;
    return { detail, advice: "end its transaction: `fuser` names the process, often a shell or a backup program" };
  }
  const detail = `${file} cannot be used: ${code}`;
  const isDamaged = code.startsWith("SQLITE_CORRUPT") || code.startsWith("SQLITE_NOTADB");
  const advice = isDamaged
    ? "it is damaged, or no SQLite database: restore a backup (docs/operating.md), or set DATABASE_URL to another file"
    : "check its permissions, or set DATABASE_URL to another file";
  return { detail, advice };
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
      {
        name: "database",
        status: "ok",
        detail: `PostgreSQL ${String(row["version"])}, answered in ${after - before} ms`,
      },
      clockCheck(Number(row["ms"]) - (before + after) / 2, "the database's"),
    ];
  } catch (error) {
    const advice = "check DATABASE_URL, that the server runs, and that this machine may reach it";
    return [{ name: "database", status: "fail", detail: `PostgreSQL does not answer: ${codeOf(error)}`, advice }];
  } finally {
    await connection.close();
  }
}
