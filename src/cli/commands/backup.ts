import { resolve } from "node:path";
import { Command } from "commander";
import { exitCodes, failWith } from "#cli/exit.ts";
import { print, printJson } from "#cli/output.ts";
import { withDatabase } from "#cli/with-database.ts";
import { backupSqlite } from "#db/backup.ts";

/** `smart-gateway backup FILE`: a copy of the SQLite database, also while gateways write to it. */
export function backupCommand(env: NodeJS.ProcessEnv = process.env): Command {
  return new Command("backup")
    .description("copy the SQLite database of DATABASE_URL to a new file, also while gateways run")
    .argument("<file>", "the copy; must not exist")
    .option("--json", "print {file, bytes}")
    .action((file: string, options: { readonly json?: true }) =>
      withDatabase(env, options, "No backup was made", (_, location) => {
        if (location.kind === "postgres") return failWith(exitCodes.badUsage, ownTools, options);
        const { bytes } = backupSqlite(location.path, file);
        if (options.json) printJson({ file: resolve(file), bytes });
        else print(`${resolve(file)}: ${bytes} bytes, checked. What is spent from now on is not in it.`);
      }),
    );
}

const ownTools =
  "DATABASE_URL names a PostgreSQL database: back it up with its own tools (pg_dump, or continuous archiving). See docs/operating.md.";
