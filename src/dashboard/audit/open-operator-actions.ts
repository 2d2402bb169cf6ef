import { databaseLocationOf } from "#db/database-url.ts";
import type { OperatorActions } from "./operator-actions.ts";
import { openSqliteActions } from "./sqlite-actions.ts";

/** The audit log that a database URL names. Brings the schema up to date; rejects when the database cannot be reached. */
export async function openOperatorActions(databaseUrl: string): Promise<OperatorActions> {
  const location = databaseLocationOf(databaseUrl);
  if (location.kind === "sqlite") return openSqliteActions(location.path);
  // Loaded where it is used: a gateway on SQLite never needs it, and modules take memory.
  const { openPostgresActions } = await import("./postgres-actions.ts");
  return openPostgresActions(location.url);
}
