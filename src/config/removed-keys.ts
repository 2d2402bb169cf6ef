import { isSection, type Path, valueAt } from "./config-file.ts";

/** Keys of earlier releases that the policy has no more, by what holds instead. A file that has one is read without it, with a warning. */
const removedKeys: { readonly [instead: string]: readonly string[] } = {
  "health.failures_in_a_row sets it now": [
    "health.degraded_minimum",
    "health.degraded_in_a_row",
    "health.unhealthy_minimum",
  ],
  "it is a fixed number now (docs/health.md)": [
    "health.window_ms",
    "health.degraded_failure_share",
    "health.slow_share",
    "health.slow_minimum",
    "health.slow_floor_ms",
    "health.recovered_failure_share",
    "health.recovered_slow_share",
    "health.recovered_minimum",
    "health.stale_failures_in_a_row",
    "health.unhealthy_failure_share",
    "health.probes_to_recover",
    "health.stale_after_ms",
    "health.garbage_in_a_row",
    "health.garbage_share",
    "health.garbage_minimum",
    "health.price_breaches_to_quarantine",
    "health.price_breach_window_ms",
    "health.trips_to_quarantine",
    "health.trips_window_ms",
    "health.quarantine_base_ms",
    "health.quarantine_max_ms",
    "health.limited_default_ms",
    "health.limited_max_ms",
    "health.shed_max",
    "health.urgent_probe_every_ms",
    "health.aggregator_failures_in_a_row",
    "health.aggregator_open_base_ms",
    "health.aggregator_open_max_ms",
  ],
};

export interface RemovedKey {
  readonly path: Path;
  /** A sentence part: what holds instead. */
  readonly instead: string;
}

/** A policy as it was written, without the keys that earlier releases had; and which these were. The value itself if it has none. */
export function withoutRemovedKeys(written: unknown): { readonly value: unknown; readonly removed: RemovedKey[] } {
  const removed = Object.entries(removedKeys).flatMap(([instead, keys]) =>
    keys.map((key) => ({ path: key.split("."), instead })).filter(({ path }) => valueAt(written, path) !== undefined),
  );
  if (removed.length === 0) return { value: written, removed };
  const value = structuredClone(written);
  for (const { path } of removed) {
    const section = valueAt(value, path.slice(0, -1));
    if (isSection(section)) delete section[String(path.at(-1))];
  }
  return { value, removed };
}
