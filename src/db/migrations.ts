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
  2: "ledger-rows",
  3: "generation-lookup",
  10: "health",
  20: "price-book",
  30: "routing-memory",
  31: "routing-outcome",
  40: "decision-record",
  41: "decision-record-indexes",
  42: "decision-goal-days",
  50: "operator-action",
  60: "key-usage",
  75: "decision-record-filters",
  85: "decision-block-heads",
  93: "terms-uncompressed",
  110: "ledger-batches",
  120: "fewer-indexes",
  130: "late-costs",
} as const;

/** The migrations of one dialect, by the SQL of each version. */
export function migrationsOf(sql: { readonly [version in keyof typeof names]: string }): readonly Migration[] {
  // Ascending, as keys that are whole numbers are listed.
  const versions = Object.keys(names).map(Number) as (keyof typeof names)[];
  return versions.map((version) => ({ version, name: names[version], sql: sql[version] }));
}

/**
 * The migrations that are missing in `applied`. Throws when the database has one that this program does not know: an older gateway
 * must not write into a newer schema.
 */
export function pendingMigrations(applied: readonly number[], known: readonly Migration[]): readonly Migration[] {
  const unknown = applied.filter((version) => !known.some((step) => step.version === version));
  if (unknown.length > 0) {
    throw new Error(
      `the database has schema version ${unknown.join(", ")}, which this program does not know: start a newer release, or use another database`,
    );
  }
  return known.filter(({ version }) => !applied.includes(version)).sort((a, b) => a.version - b.version);
}
