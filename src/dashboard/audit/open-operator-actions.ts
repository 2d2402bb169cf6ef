import { databaseLocationOf } from "#db/database-url.ts";
import type { OperatorActions } from "./operator-actions.ts";
import { openPostgresActions } from "./postgres-actions.ts";
import { openSqliteActions } from "./sqlite-actions.ts";

/** The audit log that a database URL names. Brings the schema up to date; rejects when the database cannot be reached. */
export async function openOperatorActions(databaseUrl: string): Promise<OperatorActions> {
  const location = databaseLocationOf(databaseUrl);
  return location.kind === "sqlite" ? openSqliteActions(location.path) : openPostgresActions(location.url);
}
