import { resolve } from "node:path";
import type { Command } from "commander";
import { withDatabase } from "#cli/databases.ts";
import { badUsage, type OutputOptions, print } from "#cli/output.ts";
import { backupSqlite } from "#db/backup.ts";
import { openStoreDatabase } from "#db/store-database.ts";

/** `smart-gateway backup FILE`: a copy of the SQLite database, also while gateways write to it. */
export function setUpBackup(command: Command): void {
  command
    .argument("<file>", "the copy; must not exist")
    .addHelpText("after", "\nExample: smart-gateway backup /backups/gateway.db")
    .action(async (file: string, options: OutputOptions) => {
      const { bytes } = await withDatabase("No backup was made", (_, location) => {
        if (location.kind === "postgres") {
          throw badUsage(
            "DATABASE_URL names a PostgreSQL database: back it up with its own tools (pg_dump, or continuous archiving). See docs/operating.md.",
          );
        }
        return backupSqlite(location.path, file);
      });
      const text = `${resolve(file)}: ${bytes} bytes, checked. What is spent from now on is not in it.`;
      print({ file: resolve(file), bytes }, options, text);
    });
}

/** `smart-gateway migrate`: for those who change a schema before they start the new version. */
export function setUpMigrate(command: Command): void {
  command.addHelpText("after", "\nExample: smart-gateway migrate").action((options: OutputOptions) =>
    withDatabase("The database was not migrated", async (url, { kind }) => {
      await (await openStoreDatabase(url)).close();
      print({ ok: true, database: kind }, options, "The database has this version's schema.");
    }),
  );
}
