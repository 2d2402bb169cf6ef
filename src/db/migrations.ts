import ledger from "./migrations/0001-ledger.sql" with { type: "text" };
import health from "./migrations/0010-health.sql" with { type: "text" };
import release from "./migrations/0220-release-1-1.sql" with { type: "text" };
import postgresLedger from "./migrations/postgres/0001-ledger.sql" with { type: "text" };
import postgresRelease from "./migrations/postgres/0220-release-1-1.sql" with { type: "text" };
import sqliteLedger from "./migrations/sqlite/0001-ledger.sql" with { type: "text" };
import sqliteRelease from "./migrations/sqlite/0220-release-1-1.sql" with { type: "text" };

/** One migration. Once released, it does not change. */
export interface Migration {
  /** Ascending. Gaps are left between the parts of the gateway. */
  readonly version: number;
  readonly name: string;
  /** The release that brought it: with it, the digest of its text stands in `migrations.test.ts`. */
  readonly release: string;
  readonly sql: string;
}

/** Every version of the schema: what both dialects share, in SQLite's words, and what each has of its own. */
const migrations = [
  { version: 1, name: "ledger", release: "1.0.0", shared: ledger, sqlite: sqliteLedger, postgres: postgresLedger },
  { version: 10, name: "health", release: "1.0.0", shared: health, sqlite: "", postgres: "" },
  {
    version: 220,
    name: "release-1-1",
    release: "1.1.0",
    shared: release,
    sqlite: sqliteRelease,
    postgres: postgresRelease,
  },
];

export const sqliteMigrations: readonly Migration[] = migrations.map(
  ({ shared, sqlite, postgres: _, ...migration }) => ({ ...migration, sql: shared + sqlite }),
);
export const postgresMigrations: readonly Migration[] = migrations.map(
  ({ shared, sqlite: _, postgres, ...migration }) => ({ ...migration, sql: inPostgres(shared) + postgres }),
);

/** A version of the schema for people: its number, and the release that brought it. */
export function schemaText(applied: readonly number[]): string {
  const version = Math.max(...applied);
  return `schema ${version} of ${migrations.find((migration) => migration.version === version)?.release ?? "a newer release"}`;
}

/** SQLite's words in PostgreSQL's. Released migrations are made by it, so it does not change what it makes of them. */
function inPostgres(sql: string): string {
  return sql
    .replaceAll(" WITHOUT ROWID", "")
    .replaceAll("INTEGER PRIMARY KEY AUTOINCREMENT", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY")
    .replaceAll(/INTEGER NOT NULL CHECK \(\w+ IN \(0, 1\)\)/g, "boolean NOT NULL")
    .replaceAll("INTEGER", "bigint");
}

/**
 * The migrations that are missing in `applied`. Throws when the database has one that this program does not know: an
 * older gateway must not write into a newer schema, and what builds between two releases wrote is not read.
 */
export function pendingMigrations(applied: readonly number[], known: readonly Migration[]): readonly Migration[] {
  const unknown = applied.filter((version) => !known.some((step) => step.version === version));
  const newest = Math.max(...known.map(({ version }) => version));
  const unreleased = unknown.filter((version) => version < newest);
  if (unreleased.length > 0) {
    throw new Error(
      `the database was made by a build between two releases (schema version ${unreleased.join(", ")}) and cannot be upgraded: go on with that build, or back the database up and name another one; budgets then begin at 0`,
    );
  }
  if (unknown.length > 0) {
    throw new Error(
      `the database has schema version ${unknown.join(", ")}, which this program does not know: start a newer release, or use another database`,
    );
  }
  return known.filter(({ version }) => !applied.includes(version)).sort((a, b) => a.version - b.version);
}
