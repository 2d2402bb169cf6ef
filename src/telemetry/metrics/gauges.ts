import type { Model, ModelKey } from "#domain/model.ts";
import type { Caps } from "#domain/money/caps.ts";
import { policyVersion } from "#domain/routing.ts";
import { type AggregatorSources, declareAggregatorGauges } from "./aggregator-gauges.ts";
import { inUsd } from "./labels.ts";
import type { MetricsRegistry } from "./metrics-registry.ts";

const healthLabels = ["HEALTHY", "DEGRADED", "UNHEALTHY", "HALF_OPEN", "DISABLED", "STALE", "QUARANTINE"] as const;
export type HealthLabel = (typeof healthLabels)[number];

/** What gauges read at each scrape. All are optional: a part that is not there has no samples. */
export interface Sources extends AggregatorSources {
  readonly version?: string;
  readonly models?: () => ReadonlyMap<ModelKey, Pick<Model, "role">>;
  readonly activeStreams?: () => number;
  readonly requestsInFlight?: () => number;
  readonly ledger?: () => {
    readonly ok: boolean;
    readonly queued: number;
    readonly oldestMs: number;
    readonly holds?: { readonly [S in "running" | "unresolved"]: { readonly count: number; readonly amount: number } };
  };
  /** Decision records: whether the store takes them, how many wait, and what is kept. */
  readonly records?: () => {
    readonly ok: boolean;
    readonly queued: number;
    readonly rows?: number;
    readonly bytes?: number;
  };
  readonly health?: () => { readonly [model: ModelKey]: { readonly state: HealthLabel; readonly routable: boolean } };
  /** In nano-USD. */
  readonly caps?: () => { readonly [cap in keyof Caps]: number };
  /** Today's account as this node last saw it, in nano-USD. */
  readonly day?: () => { readonly spent: number; readonly held: number; readonly hardOverride?: number } | undefined;
  /** What today's account was charged without a known cost, in nano-USD; undefined before it was read. */
  readonly chargedToday?: () => number | undefined;
  readonly config?: () => {
    readonly state: "current" | "checking" | "refused" | "failed";
    readonly loadedAtMs: number;
    readonly hash: string;
  };
  readonly workers?: () => { readonly wanted: number; readonly serving: number };
  /** When a list of prices was last read, in milliseconds since the epoch. */
  readonly priceBookReadMs?: () => number | undefined;
  /** Texts that the privacy gate had scanned before and new ones, and the bytes that remembering them takes. */
  readonly scanMemory?: () => { readonly hits: number; readonly misses: number; readonly bytes: number };
  /** How late the event loop runs its timers, in milliseconds. */
  readonly eventLoopDelayMs?: () => number;
}

/** Gauges that read the gateway's parts at each scrape. `sources` may be completed later. */
export function declareGauges(registry: MetricsRegistry, sources: Sources, modelLabel: (key: string) => string): void {
  declareProcessGauges(registry, sources);
  declareConfigurationGauges(registry, sources);
  declareHealthGauges(registry, sources, modelLabel);
  declareAggregatorGauges(registry, sources, modelLabel);
  declareLedgerGauges(registry, sources);
  declareBudgetGauges(registry, sources);
  declareRecordGauges(registry, sources);
  declareScanMemoryGauges(registry, sources);
}

function declareProcessGauges(registry: MetricsRegistry, sources: Sources): void {
  registry.gauge(
    "smart_gateway_workers",
    "Worker processes, wanted and serving (WORKERS above 1).",
    ["state"],
    (set) => {
      const workers = sources.workers?.();
      if (workers === undefined) return;
      set(workers.wanted, "wanted");
      set(workers.serving, "serving");
    },
  );
  registry.gauge(
    "smart_gateway_build_info",
    "Always 1; its labels name the version that runs.",
    ["version", "policy_version"],
    (set) => {
      set(1, sources.version ?? "unknown", policyVersion);
    },
  );
  registry.gauge("smart_gateway_active_streams", "Streams being sent to callers now.", [], (set) => {
    if (sources.activeStreams !== undefined) set(sources.activeStreams());
  });
  registry.gauge("smart_gateway_requests_in_flight", "Chat requests being served now.", [], (set) => {
    if (sources.requestsInFlight !== undefined) set(sources.requestsInFlight());
  });
  registry.gauge(
    "smart_gateway_event_loop_delay_seconds",
    "How late the event loop runs its timers, in seconds.",
    [],
    (set) => {
      if (sources.eventLoopDelayMs !== undefined) set(sources.eventLoopDelayMs() / 1_000);
    },
  );
}

function declareConfigurationGauges(registry: MetricsRegistry, sources: Sources): void {
  registry.gauge(
    "smart_gateway_config_info",
    "Always 1; its label is the configuration hash, which names the policy, models and learned weights of the files.",
    ["hash"],
    (set) => {
      const config = sources.config?.();
      if (config !== undefined) set(1, config.hash);
    },
  );
  registry.gauge(
    "smart_gateway_config_last_reload_timestamp_seconds",
    "When the configuration in force was last found to equal the files, in seconds since the Unix epoch.",
    [],
    (set) => {
      const config = sources.config?.();
      if (config !== undefined) set(config.loadedAtMs / 1_000);
    },
  );
  registry.gauge(
    "smart_gateway_config_last_reload_successful",
    "1 while the contents of the configuration files are in force, 0 while they are refused or not checked yet.",
    [],
    (set) => {
      const config = sources.config?.();
      if (config !== undefined) set(config.state === "current" ? 1 : 0);
    },
  );
  registry.gauge(
    "smart_gateway_price_book_read_seconds",
    "When the aggregator's prices were last read, in seconds since the Unix epoch.",
    [],
    (set) => {
      const readMs = sources.priceBookReadMs?.();
      if (readMs !== undefined) set(readMs / 1_000);
    },
  );
}

function declareLedgerGauges(registry: MetricsRegistry, sources: Sources): void {
  registry.gauge("smart_gateway_ledger_up", "1 while the ledger's database answers, else 0.", [], (set) => {
    if (sources.ledger !== undefined) set(sources.ledger().ok ? 1 : 0);
  });
  registry.gauge("smart_gateway_ledger_queue_length", "Ledger operations that wait for the database.", [], (set) => {
    if (sources.ledger !== undefined) set(sources.ledger().queued);
  });
  registry.gauge(
    "smart_gateway_ledger_queue_oldest_seconds",
    "Age of the oldest waiting ledger operation, in seconds.",
    [],
    (set) => {
      if (sources.ledger !== undefined) set(sources.ledger().oldestMs / 1_000);
    },
  );
  registry.gauge(
    "smart_gateway_held_usd",
    "Money held now in the whole store, in US dollars: by running calls, and by calls whose outcome is unknown.",
    ["state"],
    (set) => {
      for (const [state, { amount }] of Object.entries(sources.ledger?.().holds ?? {})) set(inUsd(amount), state);
    },
  );
  registry.gauge("smart_gateway_holds", "Holds now in the whole store, running and unresolved.", ["state"], (set) => {
    for (const [state, { count }] of Object.entries(sources.ledger?.().holds ?? {})) set(count, state);
  });
}

function declareBudgetGauges(registry: MetricsRegistry, sources: Sources): void {
  registry.gauge("smart_gateway_budget_cap_usd", "The policy's caps, in US dollars.", ["scope", "level"], (set) => {
    const caps = sources.caps?.();
    if (caps === undefined) return;
    set(inUsd(caps.goalSoft), "goal", "soft");
    set(inUsd(caps.goalHard), "goal", "hard");
    set(inUsd(caps.daySoft), "day", "soft");
    set(inUsd(caps.dayHard), "day", "hard");
  });
  registry.gauge(
    "smart_gateway_budget_day_usd",
    "Today's account (UTC) as this node last read it, and its hard cap, in US dollars; an operator's own cap takes precedence.",
    ["part"],
    (set) => {
      const day = sources.day?.();
      if (day === undefined) return;
      set(inUsd(day.spent), "spent");
      set(inUsd(day.held), "held");
      const hard = day.hardOverride ?? sources.caps?.().dayHard;
      if (hard !== undefined) set(inUsd(hard), "hard_cap");
    },
  );
  registry.gauge(
    "smart_gateway_charged_without_proof_day_usd",
    "Part of today's spending (UTC, whole store) whose cost is unknown: holds charged in full, less corrections, in US dollars.",
    [],
    (set) => {
      const charged = sources.chargedToday?.();
      if (charged !== undefined) set(inUsd(charged));
    },
  );
}

function declareRecordGauges(registry: MetricsRegistry, sources: Sources): void {
  registry.gauge("smart_gateway_records_up", "1 while the store of decision records answers, else 0.", [], (set) => {
    if (sources.records !== undefined) set(sources.records().ok ? 1 : 0);
  });
  registry.gauge("smart_gateway_records_queue_length", "Decision records that wait to be written.", [], (set) => {
    if (sources.records !== undefined) set(sources.records().queued);
  });
  registry.gauge("smart_gateway_records_stored", "Stored decision records of all nodes.", [], (set) => {
    const rows = sources.records?.().rows;
    if (rows !== undefined) set(rows);
  });
  registry.gauge(
    "smart_gateway_records_stored_bytes",
    "Approximate size of the decision records in the database, in bytes; at most `records.max_bytes`.",
    [],
    (set) => {
      const bytes = sources.records?.().bytes;
      if (bytes !== undefined) set(bytes);
    },
  );
}

function declareHealthGauges(registry: MetricsRegistry, sources: Sources, modelLabel: (key: string) => string): void {
  registry.gauge(
    "smart_gateway_model_health",
    "1 for the state a model is in, 0 for the others.",
    ["model", "state"],
    (set) => {
      for (const [model, { state }] of Object.entries(sources.health?.() ?? {})) {
        for (const label of healthLabels) set(label === state ? 1 : 0, modelLabel(model), label);
      }
    },
  );
  registry.gauge("smart_gateway_model_routable", "1 while a model may be sent traffic, else 0.", ["model"], (set) => {
    for (const [model, { routable }] of Object.entries(sources.health?.() ?? {}))
      set(routable ? 1 : 0, modelLabel(model));
  });
}

function declareScanMemoryGauges(registry: MetricsRegistry, sources: Sources): void {
  registry.readCounter(
    "smart_gateway_scan_memory_hits_total",
    "Messages and tool lists that were neither parsed nor scanned for credentials again, because an earlier request had them.",
    () => sources.scanMemory?.().hits ?? 0,
  );
  registry.readCounter(
    "smart_gateway_scan_memory_misses_total",
    "Messages and tool lists that were scanned for credentials and whose result was stored; short ones are not counted.",
    () => sources.scanMemory?.().misses ?? 0,
  );
  registry.gauge(
    "smart_gateway_scan_memory_bytes",
    "Estimated memory that the results of earlier scans take, in bytes.",
    [],
    (set) => {
      if (sources.scanMemory !== undefined) set(sources.scanMemory().bytes);
    },
  );
}
