import { resolve } from "node:path";
import { type CommandSpec, onDatabase, settingsInForce } from "#cli/options.ts";
import { badUsage, type OutputOptions, print } from "#cli/output.ts";
import { backupSqlite } from "#db/backup.ts";
import { missingMigrations } from "#db/schema-version.ts";
import { openStoreDatabase } from "#db/store-database.ts";

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
async function backup(file: string, options: OutputOptions): Promise<void> {
  const bytes = await onDatabase("No backup was made", (_, location) => {
    if (location.kind === "postgres") {
      throw badUsage(
        "DATABASE_URL names a PostgreSQL database: back it up with its own tools (pg_dump, or continuous archiving). See docs/operating.md.",
      );
    }
    return backupSqlite(location.path, file);
  });
  const text = `${resolve(file)}: ${bytes} bytes, checked. What is spent from now on is not in it.`;
  print({ file: resolve(file), bytes }, options, text);
}

/** For those who change a schema before they start the new version. */
async function migrate(options: OutputOptions): Promise<void> {
  const { databaseUrl } = settingsInForce();
  const { database, applied } = await onDatabase("The database was not migrated", async (_, location) => {
    const applied = await missingMigrations(location);
    await (await openStoreDatabase(databaseUrl)).close();
    return { database: location.kind, applied };
  });
  const done = applied.length === 0 ? "Nothing to do:" : `Applied: ${applied.join(", ")}.`;
  print({ ok: true, database, applied }, options, `${done} the database has this version's schema.`);
}
