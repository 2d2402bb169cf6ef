import { readdirSync } from "node:fs";
import type { Model, ModelKey } from "#domain/model.ts";
import type { Caps } from "#domain/money/money.ts";
import { policyVersion } from "#domain/routing.ts";
import { openFileLimit } from "#platform/open-file-limit.ts";
import type { ReadMetric } from "./declarations.ts";

const healthLabels = ["HEALTHY", "DEGRADED", "UNHEALTHY", "HALF_OPEN", "DISABLED", "STALE", "QUARANTINE"] as const;
type HealthLabel = (typeof healthLabels)[number];

/** What is read at each scrape. All are optional: a part that is not there has no samples. Amounts are in nano-USD. */
export interface Sources {
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
  /** Something while the aggregator cannot be reached: no model is routable then. */
  readonly outage?: () => object | undefined;
  readonly health?: () => { readonly [model: ModelKey]: { readonly state: HealthLabel; readonly routable: boolean } };
  /** Calls to models with a limit, and the requests that wait for one. */
  readonly calls?: () => readonly { readonly model: string; readonly inFlight: number; readonly waiting: number }[];
  readonly caps?: () => { readonly [cap in keyof Caps]: number };
  /** Today's account as this node last saw it. */
  readonly day?: () =>
    | { readonly spent: number; readonly held: number; readonly unproven: number; readonly hardOverride?: number }
    | undefined;
  readonly config?: () => { readonly state: "current" | "refused"; readonly loadedAtMs: number; readonly hash: string };
  readonly workers?: () => { readonly wanted: number; readonly serving: number };
  /** When a list of prices was last read, in milliseconds since the epoch. */
  readonly priceBookReadMs?: () => number | undefined;
  /** The differences between the registry and the last price list. */
  readonly priceDrifts?: () => readonly { readonly model: string; readonly reason: string }[];
  /** The day's two counts as last read together. */
  readonly reconciliation?: () =>
    | { readonly [N in "ledgerSpent" | "ledgerUnproven" | "aggregatorSpent" | "readMs"]: number }
    | undefined;
  /** Undefined where the key has no limit, or nobody has asked. */
  readonly keyLimitRemaining?: () => number | undefined;
  /** Texts that the privacy gate had scanned before and new ones, and the bytes that remembering them takes. */
  readonly scanMemory?: () => { readonly hits: number; readonly misses: number; readonly bytes: number };
  /** How late the event loop runs its timers. */
  readonly eventLoopDelayMs?: () => number;
}

/** Sets a sample; an undefined value is none. */
type SetSample = (name: ReadMetric, value: number | undefined, ...labels: string[]) => void;

export function readSources(sources: Sources, set: SetSample): void {
  const setUsd = (name: ReadMetric, nanoUsd: number | undefined, ...labels: string[]) =>
    set(name, nanoUsd === undefined ? undefined : nanoUsd / 1_000_000_000, ...labels);
  const setSeconds = (name: ReadMetric, ms: number | undefined) => set(name, ms === undefined ? undefined : ms / 1_000);

  set("smart_gateway_build_info", 1, sources.version ?? "unknown", policyVersion);
  const workers = sources.workers?.();
  set("smart_gateway_workers", workers?.wanted, "wanted");
  set("smart_gateway_workers", workers?.serving, "serving");
  set("smart_gateway_active_streams", sources.activeStreams?.());
  set("smart_gateway_requests_in_flight", sources.requestsInFlight?.());
  setSeconds("smart_gateway_event_loop_delay_seconds", sources.eventLoopDelayMs?.());
  const scans = sources.scanMemory?.();
  set("smart_gateway_scan_memory_hits_total", scans?.hits ?? 0);
  set("smart_gateway_scan_memory_misses_total", scans?.misses ?? 0);
  set("smart_gateway_scan_memory_bytes", scans?.bytes);

  const config = sources.config?.();
  if (config !== undefined) {
    set("smart_gateway_config_info", 1, config.hash);
    setSeconds("smart_gateway_config_last_reload_timestamp_seconds", config.loadedAtMs);
    set("smart_gateway_config_last_reload_successful", config.state === "current" ? 1 : 0);
  }
  for (const [key, { state, routable }] of Object.entries(sources.health?.() ?? {})) {
    for (const label of healthLabels) set("smart_gateway_model_health", label === state ? 1 : 0, key, label);
    set("smart_gateway_model_routable", routable && sources.outage?.() === undefined ? 1 : 0, key);
  }
  for (const { model, inFlight, waiting } of sources.calls?.() ?? []) {
    set("smart_gateway_calls_in_flight", inFlight, model);
    set("smart_gateway_calls_waiting", waiting, model);
  }

  setSeconds("smart_gateway_price_book_read_seconds", sources.priceBookReadMs?.());
  for (const { model, reason } of sources.priceDrifts?.() ?? []) {
    set("smart_gateway_price_drifted", 1, model, reason);
  }
  const counts = sources.reconciliation?.();
  setUsd("smart_gateway_reconcile_usd", counts?.ledgerSpent, "ledger");
  setUsd("smart_gateway_reconcile_usd", counts?.aggregatorSpent, "aggregator");
  setUsd("smart_gateway_reconcile_usd", counts?.ledgerUnproven, "unproven");
  setSeconds("smart_gateway_reconcile_read_seconds", counts?.readMs);
  setUsd("smart_gateway_key_limit_remaining_usd", sources.keyLimitRemaining?.());

  const ledger = sources.ledger?.();
  if (ledger !== undefined) set("smart_gateway_ledger_up", ledger.ok ? 1 : 0);
  set("smart_gateway_ledger_queue_length", ledger?.queued);
  setSeconds("smart_gateway_ledger_queue_oldest_seconds", ledger?.oldestMs);
  for (const [state, { count, amount }] of Object.entries(ledger?.holds ?? {})) {
    setUsd("smart_gateway_held_usd", amount, state);
    set("smart_gateway_holds", count, state);
  }
  const caps = sources.caps?.();
  setUsd("smart_gateway_budget_cap_usd", caps?.goalSoft, "goal", "soft");
  setUsd("smart_gateway_budget_cap_usd", caps?.goalHard, "goal", "hard");
  setUsd("smart_gateway_budget_cap_usd", caps?.daySoft, "day", "soft");
  setUsd("smart_gateway_budget_cap_usd", caps?.dayHard, "day", "hard");
  const day = sources.day?.();
  if (day !== undefined) {
    setUsd("smart_gateway_budget_day_usd", day.spent, "spent");
    setUsd("smart_gateway_budget_day_usd", day.held, "held");
    setUsd("smart_gateway_budget_day_usd", day.hardOverride ?? caps?.dayHard, "hard_cap");
    setUsd("smart_gateway_charged_without_proof_day_usd", day.unproven);
  }

  const records = sources.records?.();
  if (records !== undefined) set("smart_gateway_records_up", records.ok ? 1 : 0);
  set("smart_gateway_records_queue_length", records?.queued);
  set("smart_gateway_records_stored", records?.rows);
  set("smart_gateway_records_stored_bytes", records?.bytes);
}

const startedAtSeconds = Date.now() / 1_000 - process.uptime();

/** The process itself, under the names that Prometheus client libraries use. */
export function readProcess(set: SetSample): void {
  set("process_start_time_seconds", startedAtSeconds);
  set("process_resident_memory_bytes", process.memoryUsage.rss());
  const { user, system } = process.cpuUsage();
  set("process_cpu_seconds_total", (user + system) / 1_000_000);
  try {
    set("process_open_fds", readdirSync("/proc/self/fd").length);
  } catch {
    // Not Linux: there is no sample.
  }
  const limit = openFileLimit();
  set("process_max_fds", limit === Number.POSITIVE_INFINITY ? undefined : limit);
}
