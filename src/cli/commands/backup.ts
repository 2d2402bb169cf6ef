import { resolve } from "node:path";
import { Command } from "commander";
import { exitCodes, failWith, failWithError, printJson } from "#cli/exit.ts";
import { backupSqlite } from "#db/backup.ts";
import { databaseUrlForms, defaultDatabaseUrl, inMemoryPath, parseDatabaseUrl } from "#db/database-url.ts";

/** `smart-gateway backup FILE`: a copy of the SQLite database, also while gateways write to it. */
export function backupCommand(env: NodeJS.ProcessEnv = process.env): Command {
  return new Command("backup")
    .description("copy the SQLite database of DATABASE_URL into a new file, also while gateways run")
    .argument("<file>", "the copy; must not exist")
    .option("--json", "print {file, bytes}")
    .action((file: string, options: { readonly json?: true }) => {
      const path = databasePathOf(env["DATABASE_URL"] || defaultDatabaseUrl);
      if (typeof path !== "string") {
        return failWith(exitCodes.badUsage, path.problem, options);
      }
      try {
        const { bytes } = backupSqlite(path, file);
        if (options.json) printJson({ file: resolve(file), bytes });
        else console.log(`${resolve(file)}: ${bytes} bytes, checked. What is spent from now on is not in it.`);
      } catch (error) {
        failWithError("No backup was made", error, options);
      }
    });
}

/** The file to copy, or why there is none. */
function databasePathOf(url: string): string | { readonly problem: string } {
  const location = parseDatabaseUrl(url);
  if (location === undefined) return { problem: `DATABASE_URL ${databaseUrlForms}` };
  if (location.kind === "postgres") {
    return {
      problem:
        "DATABASE_URL names a PostgreSQL database: back it up with its own tools (pg_dump, or continuous archiving). See docs/operating.md.",
    };
  }
  if (location.path === inMemoryPath) {
    return { problem: "DATABASE_URL is an in-memory database: it ends with its gateway, there is nothing to copy." };
  }
  return location.path;
}
