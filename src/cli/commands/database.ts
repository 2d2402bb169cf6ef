import { resolve } from "node:path";
import { type CommandSpec, onDatabase, settingsInForce } from "#cli/options.ts";
import type { Result } from "#cli/output.ts";
import { backupSqlite } from "#db/backup.ts";
import { missingMigrations } from "#db/schema-version.ts";
import { openStoreDatabase } from "#db/store-database.ts";
import { invalidInput } from "#operator/problem.ts";

export const commands: readonly CommandSpec[] = [
  {
    name: "backup",
    arguments: [["<file>", "the copy; must not exist"]],
    example: "smart-gateway backup /backups/gateway.db",
    run: backup,
  },
  { name: "migrate", example: "smart-gateway migrate", run: migrate },
];

/** A copy of the SQLite database, also while gateways write to it. */
async function backup(file: string): Promise<Result> {
  const bytes = await onDatabase("No backup was made", (_, location) => {
    if (location.kind === "postgres") throw invalidInput(ownTools);
    return backupSqlite(location.path, file);
  });
  const value = { file: resolve(file), bytes };
  return { value, text: `${value.file}: ${bytes} bytes, checked. What is spent from now on is not in it.` };
}

const ownTools =
  "DATABASE_URL names a PostgreSQL database: back it up with its own tools, such as pg_dump. See docs/operating.md.";

/** For those who change a schema before they start the new version. */
async function migrate(): Promise<Result> {
  const { databaseUrl } = settingsInForce();
  const { database, applied } = await onDatabase("The database was not migrated", async (_, location) => {
    const applied = await missingMigrations(location);
    await (await openStoreDatabase(databaseUrl)).close();
    return { database: location.kind, applied };
  });
  const done = applied.length === 0 ? "Nothing to do:" : `Applied: ${applied.join(", ")}.`;
  return { value: { ok: true, database, applied }, text: `${done} the database has this version's schema.` };
}
