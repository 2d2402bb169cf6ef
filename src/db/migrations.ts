import postgresLedger from "./migrations/postgres/0001-ledger.sql" with { type: "text" };
import postgresHealth from "./migrations/postgres/0010-health.sql" with { type: "text" };
import postgresRelease from "./migrations/postgres/0210-release-1-1.sql" with { type: "text" };
import sqliteLedger from "./migrations/sqlite/0001-ledger.sql" with { type: "text" };
import sqliteHealth from "./migrations/sqlite/0010-health.sql" with { type: "text" };
import sqliteRelease from "./migrations/sqlite/0210-release-1-1.sql" with { type: "text" };

/** One migration. Once released, it does not change. */
export interface Migration {
  /** Ascending; a migration has the same number in both dialects. Gaps are left between the parts of the gateway. */
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

export const sqliteMigrations = numbered(sqliteLedger, sqliteHealth, sqliteRelease);
export const postgresMigrations = numbered(postgresLedger, postgresHealth, postgresRelease);

function numbered(ledger: string, health: string, release: string): readonly Migration[] {
  return [
    { version: 1, name: "ledger", sql: ledger },
    { version: 10, name: "health", sql: health },
    { version: 210, name: "release-1-1", sql: release },
  ];
}

/**
 * The migrations that are missing in `applied`. Throws when the database has one that this program does not know: an older gateway
 * must not write into a newer schema, and what builds between two releases wrote is not read.
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
