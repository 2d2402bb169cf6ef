import { inUsd } from "./labels.ts";
import type { MetricsRegistry } from "./metrics-registry.ts";

/** What the aggregator reports beside its answers: prices, and its own count of the spend. */
export interface AggregatorSources {
  /** The differences between the registry and the last price list. */
  readonly priceDrifts?: () => readonly { readonly model: string; readonly reason: string }[];
  /** The day's two counts as last read together, in nano-USD and milliseconds since the epoch. */
  readonly reconciliation?: () =>
    | { readonly ledgerSpent: number; readonly aggregatorSpent: number; readonly readMs: number }
    | undefined;
  /** In nano-USD; undefined where the key has no limit, or nobody has asked. */
  readonly keyLimitRemaining?: () => number | undefined;
}

/** Gauges of prices and of the day's counts. */
export function declareAggregatorGauges(
  registry: MetricsRegistry,
  sources: AggregatorSources,
  modelLabel: (key: string) => string,
): void {
  registry.gauge(
    "smart_gateway_price_drifted",
    "1 for each model and reason for which the last price list differed from the registry.",
    ["model", "reason"],
    (set) => {
      for (const { model, reason } of sources.priceDrifts?.() ?? []) set(1, modelLabel(model), reason);
    },
  );
  registry.gauge(
    "smart_gateway_reconcile_usd",
    "US dollars spent on the current UTC day, as the ledger and as the aggregator counted them when they were last compared.",
    ["side"],
    (set) => {
      const counts = sources.reconciliation?.();
      if (counts === undefined) return;
      set(inUsd(counts.ledgerSpent), "ledger");
      set(inUsd(counts.aggregatorSpent), "aggregator");
    },
  );
  registry.gauge(
    "smart_gateway_reconcile_read_seconds",
    "When the ledger and the aggregator's count were last compared, in seconds since the Unix epoch.",
    [],
    (set) => {
      const counts = sources.reconciliation?.();
      if (counts !== undefined) set(counts.readMs / 1_000);
    },
  );
  registry.gauge(
    "smart_gateway_key_limit_remaining_usd",
    "US dollars that may still be spent with the upstream key, if the aggregator limits it.",
    [],
    (set) => {
      const remaining = sources.keyLimitRemaining?.();
      if (remaining !== undefined) set(inUsd(remaining));
    },
  );
}
