import { existsSync } from "node:fs";
import {
  type DatabaseLocation,
  databaseUrlForms,
  defaultDatabaseUrl,
  inMemoryPath,
  parseDatabaseUrl,
} from "#db/database-url.ts";
import { sqlStateOf } from "#db/postgres.ts";
import { isMissingSchema } from "#ledger/postgres/connection.ts";
import { type ExitCode, exitCodes, failWith } from "./exit.ts";

/**
 * Runs a command's work on the database that DATABASE_URL names, also while gateways use it. Problems are printed behind `failed` and
 * end the command: with 2 where the URL names no database of a gateway, with 1 where the database does not answer or the work fails.
 * No database is created: a mistyped path would look like a gateway that has done nothing.
 */
export async function withDatabase(
  env: NodeJS.ProcessEnv,
  options: { readonly json?: boolean | undefined },
  failed: string,
  work: (url: string, location: DatabaseLocation) => void | Promise<void>,
): Promise<void> {
  const url = env["DATABASE_URL"] || defaultDatabaseUrl;
  const location = parseDatabaseUrl(url);
  const problem = location === undefined ? `DATABASE_URL ${databaseUrlForms}` : missing(location);
  if (location === undefined || problem !== undefined) {
    return failWith(exitCodes.badUsage, problem ?? "", options);
  }
  try {
    await work(url, location);
  } catch (error) {
    // Never the URL: it may carry a password.
    const message = error instanceof Error ? error.message : "unknown error";
    failWith(codeOf(error), `${failed}: ${message}`, options);
  }
}

/** `withDatabase` for work on one part of the database, which is opened for it and closed after it. */
export function withStore<S extends { close(): Promise<void> }>(
  env: NodeJS.ProcessEnv,
  options: { readonly json?: boolean | undefined },
  failed: string,
  open: (url: string) => Promise<S>,
  work: (store: S) => void | Promise<void>,
): Promise<void> {
  return withDatabase(env, options, failed, async (url) => {
    const store = await open(url);
    try {
      await work(store);
    } finally {
      await store.close();
    }
  });
}

/** Why there is nothing to open; undefined where there is a file, or a server to be asked. */
function missing(location: DatabaseLocation): string | undefined {
  if (location.kind === "postgres") return undefined;
  if (location.path === inMemoryPath) {
    return "DATABASE_URL is an in-memory database, which ends with its gateway: no other process can open it.";
  }
  if (existsSync(location.path)) return undefined;
  return `There is no database at ${location.path} yet. Run the command where the gateway runs, or set DATABASE_URL as it does; a gateway makes it when it starts.`;
}

/** A server that knows no such database, or no gateway's tables in it, is what a missing file is. */
function codeOf(error: unknown): ExitCode {
  return isMissingSchema(sqlStateOf(error)) ? exitCodes.badUsage : exitCodes.failed;
}
