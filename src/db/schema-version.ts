import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { type DatabaseLocation, inMemoryPath } from "./database-url.ts";
import { pendingMigrations, postgresMigrations, schemaText, sqliteMigrations } from "./migrations.ts";
import { appliedIn } from "./sqlite.ts";

/** How long the database may take to say which migrations it has. */
const answerLimitMs = 10_000;

/** Rejects when migrations are missing, or the database is newer than this program. Changes and creates nothing. */
export async function requireCurrentSchema(location: DatabaseLocation): Promise<void> {
  const missing = await missingMigrations(location);
  if (missing.length === 0) return;
  throw new Error(
    `the database lacks migrations (${missing.join(", ")}), and DATABASE_MIGRATIONS=require lets no gateway apply them: run \`smart-gateway migrate\` first`,
  );
}

/** By number and name. Rejects when the database is newer than this program. */
export async function missingMigrations(location: DatabaseLocation): Promise<readonly string[]> {
  const known = location.kind === "sqlite" ? sqliteMigrations : postgresMigrations;
  return pendingMigrations(await appliedMigrations(location), known).map(({ version, name }) => `${version} ${name}`);
}

/** What `doctor` says of the schema, where a gateway has made one. That a database cannot be read, its own check says. */
export async function schemaOf(location: DatabaseLocation) {
  const applied = await appliedMigrations(location).catch(() => []);
  if (applied.length === 0) return [];
  const detail = schemaText(applied);
  try {
    if ((await missingMigrations(location)).length === 0) return [{ status: "ok", detail } as const];
    const advice = "the next start upgrades it: before that make a backup, and stop all gateways of that release";
    return [{ status: "warn", detail, advice } as const];
  } catch (error) {
    return [{ status: "fail", detail: error instanceof Error ? error.message : detail } as const];
  }
}

/** The numbers of those that the database has; none where no gateway has used it. */
async function appliedMigrations(location: DatabaseLocation): Promise<readonly number[]> {
  if (location.kind === "sqlite") {
    if (location.path === inMemoryPath || !existsSync(location.path)) return [];
    using db = new Database(location.path, { readonly: true });
    return appliedIn(db);
  }
  const { PostgresConnection, sqlStateOf } = await import("./postgres.ts");
  const connection = new PostgresConnection(location.url, answerLimitMs);
  try {
    const [rows = []] = await connection.run("SELECT version FROM schema_migration WHERE version > 0");
    return rows.map(({ version }) => Number(version));
  } catch (error) {
    if (sqlStateOf(error) === "42P01") return []; // There is no such table.
    throw error;
  } finally {
    await connection.close();
  }
}
