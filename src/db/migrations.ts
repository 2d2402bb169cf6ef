/** One migration. Once released, it does not change. */
export interface Migration {
  /** Ascending; a migration has the same number in both dialects. Gaps are left between the parts of the gateway. */
  readonly version: number;
  readonly name: string;
  readonly sql: string;
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
