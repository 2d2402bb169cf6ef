/** One migration. Once released, it does not change. */
export interface Migration {
  /** Ascending; a migration has the same number in both dialects. Gaps are left between the parts of the gateway. */
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/** The name of each version. */
const names = {
  1: "ledger",
  10: "health",
  200: "release-1-1",
} as const;

/** The migrations of one dialect, by the SQL of each version. */
export function migrationsOf(sql: { readonly [version in keyof typeof names]: string }): readonly Migration[] {
  // Ascending, as keys that are whole numbers are listed.
  const versions = Object.keys(names).map(Number) as (keyof typeof names)[];
  return versions.map((version) => ({ version, name: names[version], sql: sql[version] }));
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
