import { isSection, valueAt } from "./config-file.ts";

/** The same for each key of a section. */
const each = (section: string, keys: string, instead: string) =>
  Object.fromEntries(keys.split(" ").map((key) => [`${section}.${key}`, instead]));

const fixed = "it is a fixed number now";

/**
 * Keys and sections of earlier releases that the policy has no more, and what holds instead. A file that has one is
 * read without it, with a warning.
 */
const removedKeys: Readonly<Record<string, string>> = {
  "routing.affinity": "a conversation's model is known for half an hour, and a switch must pay within 12 turns",
  "routing.run_prose_calls": "prose is summed up over 8 calls",
  "routing.guarded_words": "it is routing.high_risk_words now",
  "hard_rules.guarded_kinds": "the kinds are fixed; routing.kind_bias adds points to others",
  "hard_rules.guarded_kinds_from_risk": "the kinds count from risk HIGH on",
  ...each("scout", "max_output_tokens max_prompt_bytes", fixed),
  "privacy.scan_memory_bytes": "results of earlier scans take at most 16 MiB",
  "budget.absurd_cost_factor": "a cost is believed up to what the model can have written",
  ...each(
    "health",
    "degraded_minimum degraded_in_a_row unhealthy_minimum stale_failures_in_a_row",
    "health.failures_in_a_row sets it now",
  ),
  ...each(
    "health",
    "window_ms degraded_failure_share slow_share slow_minimum slow_floor_ms recovered_failure_share recovered_slow_share " +
      "recovered_minimum unhealthy_failure_share probes_to_recover stale_after_ms garbage_in_a_row garbage_share " +
      "garbage_minimum price_breaches_to_quarantine price_breach_window_ms trips_to_quarantine trips_window_ms " +
      "quarantine_base_ms quarantine_max_ms limited_default_ms limited_max_ms shed_max urgent_probe_every_ms " +
      "aggregator_failures_in_a_row aggregator_open_base_ms aggregator_open_max_ms",
    `${fixed} (docs/health.md)`,
  ),
  "upstream.max_attempts_per_model": "a model is called at most twice per request",
  "upstream.backoff_max_ms": "pauses end at two seconds, or at upstream.backoff_base_ms",
  "upstream.retry_after_max_ms": "from five seconds on the next model is tried",
  "upstream.retry_budget_share": "a tenth of the requests may be retried, beside upstream.retry_budget_per_second",
  "upstream.price_book_wait_ms": "the start waits at most two seconds for the list",
  "upstream.slow_first_event": "a model's own timeouts_ms.first_event, in the registry, replaces the rule",
  "upstream.timeouts_ms.first_event_reasoning": "it is three times upstream.timeouts_ms.first_event",
  "upstream.timeouts_ms.idle_data": "it is four times upstream.timeouts_ms.idle",
  ...each("stream", "max_buffered_bytes max_event_bytes max_answer_bytes max_answer_values", fixed),
  tasks: "10,000 tasks are kept, each for a day after its last request",
};

/** A policy as it was written, without the keys that were removed; and these, with what holds instead. */
export function withoutRemovedKeys(written: unknown) {
  const removed = Object.entries(removedKeys)
    .map(([key, instead]) => ({ path: key.split("."), instead }))
    .filter(({ path }) => valueAt(written, path) !== undefined);
  if (removed.length === 0) return { value: written, removed };
  const value = structuredClone(written);
  for (const { path } of removed) {
    const section = valueAt(value, path.slice(0, -1));
    if (isSection(section)) delete section[String(path.at(-1))];
  }
  return { value, removed };
}
