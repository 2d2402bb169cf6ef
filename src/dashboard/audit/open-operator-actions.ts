import { openStoreAt } from "#db/database-url.ts";
import type { OperatorActions } from "./operator-actions.ts";
import { openSqliteActions } from "./sqlite-actions.ts";

/** The audit log that a database URL names. Brings the schema up to date; rejects when the database cannot be reached. */
export function openOperatorActions(databaseUrl: string): Promise<OperatorActions> {
  return openStoreAt(databaseUrl, {
    sqlite: openSqliteActions,
    postgres: async (url) => (await import("./postgres-actions.ts")).openPostgresActions(url),
  });
}
