import { isSection, type Path, valueAt } from "./config-file.ts";

/**
 * Keys of earlier releases that the policy has no more, by their section and by what holds instead. A file that has
 * one is read without it, with a warning.
 */
const removedKeys: readonly (readonly [section: string, instead: string, keys: string])[] = [
  [
    "health",
    "health.failures_in_a_row sets it now",
    "degraded_minimum degraded_in_a_row unhealthy_minimum stale_failures_in_a_row",
  ],
  [
    "health",
    "it is a fixed number now (docs/health.md)",
    "window_ms degraded_failure_share slow_share slow_minimum slow_floor_ms recovered_failure_share recovered_slow_share " +
      "recovered_minimum unhealthy_failure_share probes_to_recover stale_after_ms garbage_in_a_row garbage_share " +
      "garbage_minimum price_breaches_to_quarantine price_breach_window_ms trips_to_quarantine trips_window_ms " +
      "quarantine_base_ms quarantine_max_ms limited_default_ms limited_max_ms shed_max urgent_probe_every_ms " +
      "aggregator_failures_in_a_row aggregator_open_base_ms aggregator_open_max_ms",
  ],
];

export interface RemovedKey {
  readonly path: Path;
  /** A sentence part: what holds instead. */
  readonly instead: string;
}

/** A policy as it was written, without the keys that were removed, and which these were. */
export function withoutRemovedKeys(written: unknown): { readonly value: unknown; readonly removed: RemovedKey[] } {
  const removed = removedKeys.flatMap(([section, instead, keys]) =>
    keys
      .split(" ")
      .map((key) => ({ path: [...section.split("."), key], instead }))
      .filter(({ path }) => valueAt(written, path) !== undefined),
  );
  if (removed.length === 0) return { value: written, removed };
  const value = structuredClone(written);
  for (const { path } of removed) {
    const section = valueAt(value, path.slice(0, -1));
    if (isSection(section)) delete section[String(path.at(-1))];
  }
  return { value, removed };
}
