import { readdirSync, readFileSync } from "node:fs";
import { Counter, Gauge, type Metric, Registry } from "prom-client";
import type { Model, ModelKey, Role } from "#domain/model.ts";
import { type Cause, policyVersion, type RoutingDecision } from "#domain/routing.ts";
import type { RequestRecord } from "#records/record.ts";
import type { PriceDrift } from "#telemetry/log/log.ts";
import { Histogram } from "./histogram.ts";
import type { Across, MetricSnapshot } from "./merged-metrics.ts";

/**
 * Every metric, declared once. Labels come from closed unions, or from the operator's files (model keys, rule ids), and then
 * their number is bounded; nothing a caller sends becomes a label. Each gateway has its own, so that several can live in one
 * process. Telling about a request costs a few microseconds; gauges are read only when someone scrapes.
 */
export interface Metrics {
  /** A chat request has its record. */
  requestFinished(record: RequestRecord): void;
  /** Refused at the edge, before there was a decision. */
  requestRejected(route: RejectedRoute, status: number): void;
  dryRunFinished(decision: Pick<RoutingDecision, "cause">, durationMs: number): void;
  /** A reservation was answered. `held` is the hold in nano-USD. */
  reservationAnswered(answer: "held" | "refused_goal" | "refused_day" | "unavailable", heldNanoUsd?: number): void;
  /** An upstream cost came out above its hold. */
  overrun(model: ModelKey, aboveNanoUsd: number): void;
  /** The upstream stated a cost that is too high to be believed. */
  costDistrusted(model: ModelKey): void;
  /** The aggregator was asked what it billed for a call of unknown outcome. */
  billingAsked(answer: "billed" | "distrusted" | "not_found" | "failed"): void;
  /** A hold was charged in full because nobody said what its call cost, in nano-USD. */
  chargedWithoutProof(nanoUsd: number): void;
  /** The cost of a charged call became known: so much less (or more, where negative) than was charged. */
  chargeCorrected(lessNanoUsd: number): void;
  /** Our prices and the aggregator's have drifted apart. */
  priceDrifted(model: ModelKey, reason: PriceDrift): void;
  healthChanged(model: ModelKey, to: HealthLabel): void;
  /** A worker process has ended while it was to go on; `started`: whether it had ever served. */
  workerExited(started: boolean): void;
  configReloaded(result: "reloaded" | "unchanged" | "refused" | "failed"): void;
  /** Where the gauges look; later calls add to earlier ones. */
  observe(sources: Sources): void;
  /** The Prometheus text exposition. */
  text(): Promise<string>;
  /** The same as values, to be merged with those of other processes. */
  snapshot(): Promise<MetricSnapshot[]>;
  /** Every metric there is, for the reference. */
  catalog(): readonly Declaration[];
  readonly contentType: string;
}

export interface Declaration {
  readonly name: string;
  /** How the samples of several workers become the gateway's. */
  readonly across: Across;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labelNames: readonly string[];
}

export const rejectedRoutes = ["chat_completions", "route_decision", "models", "dashboard", "other"] as const;
export type RejectedRoute = (typeof rejectedRoutes)[number];

const healthLabels = ["HEALTHY", "DEGRADED", "UNHEALTHY", "HALF_OPEN", "DISABLED", "STALE", "QUARANTINE"] as const;
type HealthLabel = (typeof healthLabels)[number];

/** What gauges read at each scrape. All are optional: a part that is not there has no samples. */
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
  readonly health?: () => { readonly [model: ModelKey]: { readonly state: HealthLabel; readonly routable: boolean } };
  /** In nano-USD. */
  readonly caps?: () => {
    readonly goalSoft: number;
    readonly goalHard: number;
    readonly daySoft: number;
    readonly dayHard: number;
  };
  /** Today's account as this node last saw it, in nano-USD. */
  readonly day?: () => { readonly spent: number; readonly held: number } | undefined;
  readonly config?: () => {
    readonly state: "current" | "checking" | "refused" | "failed";
    readonly loadedAtMs: number;
    readonly hash: string;
  };
  readonly workers?: () => { readonly wanted: number; readonly serving: number };
  /** When a list of prices was last read, in milliseconds since the epoch. */
  readonly priceBookReadMs?: () => number | undefined;
  /** How late the event loop runs its timers, in milliseconds. */
  readonly eventLoopDelayMs?: () => number;
}

type TierLabel = "free" | "flash" | "pro" | "emergency" | "none";
const tierOfRole: { readonly [R in Role]: TierLabel } = {
  scout: "free",
  worker: "flash",
  senior: "pro",
  emergency: "emergency",
};

/** Distinct values that a label from the operator's files may take before the rest count as `other`. */
const maxLabelValues = 256;

/**
 * How a gauge of several workers becomes the gateway's: what each has of its own is added up, what says that something works
 * must hold for all; for the rest the largest counts, which is the same in all of them or the one to look at.
 */
const gaugesAcross: { readonly [name: string]: Across } = {
  smart_gateway_active_streams: "sum",
  smart_gateway_requests_in_flight: "sum",
  smart_gateway_ledger_queue_length: "sum",
  smart_gateway_ledger_up: "min",
  smart_gateway_model_routable: "min",
  smart_gateway_config_last_reload_successful: "min",
  smart_gateway_config_last_reload_timestamp_seconds: "min",
  process_start_time_seconds: "min",
  process_resident_memory_bytes: "sum",
  process_open_fds: "sum",
  process_max_fds: "sum",
};

const fine = [0.000_02, 0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25];
const coarse = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const declared: Declaration[] = [];
  const sources: { -readonly [K in keyof Sources]: Sources[K] } = {};
  const modelLabel = boundedLabel();
  const ruleLabel = boundedLabel();
  const fieldLabel = boundedLabel();

  const requests = tally(
    "smart_gateway_requests_total",
    "Chat requests, by alias, tier of the model that answered (or was chosen), cause of the decision, and status.",
    ["alias", "tier", "cause", "status"],
  );
  const outcomes = tally(
    "smart_gateway_request_outcomes_total",
    "Chat requests, by how they ended and whether they streamed.",
    ["outcome", "stream"],
  );
  const rejections = tally(
    "smart_gateway_rejections_total",
    "Requests refused at the edge, before there was a decision (401, 404, 405, 413, 400, 422 …).",
    ["route", "status"],
  );
  const dryRuns = tally("smart_gateway_dry_runs_total", "Dry runs of the decision, by cause.", ["cause"]);
  const decisionSeconds = histogram(
    "smart_gateway_decision_duration_seconds",
    "From the last byte of the request to the decision: parsing, redaction, inference, policy.",
    ["endpoint"],
    fine,
  );
  const requestSeconds = histogram(
    "smart_gateway_request_duration_seconds",
    "Chat requests from the last byte of the request to the last byte of the answer.",
    ["stream"],
    coarse,
  );
  const firstTokenSeconds = histogram(
    "smart_gateway_time_to_first_token_seconds",
    "From dispatch to the first byte or event of the answer, by the model that answered.",
    ["model"],
    coarse,
  );
  const upstreamSeconds = histogram(
    "smart_gateway_upstream_duration_seconds",
    "Single calls to the upstream, by model.",
    ["model"],
    coarse,
  );
  const attempts = tally(
    "smart_gateway_upstream_attempts_total",
    "Calls to the upstream, by model, purpose and outcome (answered, or the kind of failure).",
    ["model", "purpose", "outcome"],
  );
  const retries = tally(
    "smart_gateway_retries_total",
    "Calls beyond a request's first: repeats on the same model, and fail-overs to the next.",
    ["kind"],
  );
  const tokens = tally(
    "smart_gateway_tokens_total",
    "Tokens as the upstream counts them. Input includes cached_input and cache_write, output includes reasoning.",
    ["model", "kind"],
  );
  const cost = tally(
    "smart_gateway_cost_usd_total",
    "Known cost of upstream calls in US dollars, by model. The ledger, not this figure, is what caps are held by.",
    ["model"],
  );
  const otherModels = tally(
    "smart_gateway_other_model_answers_total",
    "Answers of which the upstream says that another model wrote them, by the model that was asked.",
    ["model"],
  );
  const forwardedFields = tally(
    "smart_gateway_forwarded_fields_total",
    "Request fields forwarded although they may change model, terms or price (policy upstream.fields), by field.",
    ["field"],
  );
  const redactions = tally("smart_gateway_redactions_total", "Values replaced by the privacy gate, by rule.", ["rule"]);
  const sensitiveBlocks = tally(
    "smart_gateway_sensitive_blocks_total",
    "Decisions in which the privacy gate forced a downgrade or denial.",
    [],
  );
  const reservations = tally("smart_gateway_reservations_total", "Reservations asked for, by answer.", ["answer"]);
  const held = tally(
    "smart_gateway_held_usd_total",
    "Money held before dispatch, in US dollars, all holds added up.",
    [],
  );
  const overruns = tally(
    "smart_gateway_overrun_usd_total",
    "Upstream cost above the hold, in US dollars. Anything but 0 means that a price in the registry is wrong.",
    ["model"],
  );
  const distrusted = tally(
    "smart_gateway_distrusted_costs_total",
    "Costs stated by the upstream that are too far above the hold to be believed (budget.absurd_cost_factor), by model.",
    ["model"],
  );
  const billingAnswers = tally(
    "smart_gateway_billing_lookups_total",
    "Questions to the aggregator what it billed for a call of unknown outcome, by answer (not_found: not yet known).",
    ["answer"],
  );
  const charged = tally(
    "smart_gateway_charged_without_proof_usd_total",
    "Holds charged in full because nobody said what the call cost (deadline passed, caller left), in US dollars.",
    [],
  );
  const corrected = tally(
    "smart_gateway_charges_corrected_usd_total",
    "Money given back because a call's cost became known after its hold was charged, in US dollars.",
    [],
  );
  const priceDrifts = tally(
    "smart_gateway_price_drift_total",
    "Signs that the registry's prices and the aggregator's have drifted apart: no host within the price limit, the aggregator's list changed by more than half, or it differs so from the operator's file.",
    ["model", "reason"],
  );
  const healthChanges = tally(
    "smart_gateway_model_health_changes_total",
    "Changes of a model's health, by the state entered.",
    ["model", "to"],
  );
  const reloads = tally("smart_gateway_config_reloads_total", "Re-readings of policy and registry, by result.", [
    "result",
  ]);

  const workerExits = tally(
    "smart_gateway_worker_exits_total",
    "Worker processes that ended while they were to go on, by whether they had started to serve (WORKERS above 1).",
    ["started"],
  );
  gauge("smart_gateway_workers", "Worker processes, wanted and serving (WORKERS above 1).", ["state"], (set) => {
    const workers = sources.workers?.();
    if (workers === undefined) return;
    set(workers.wanted, "wanted");
    set(workers.serving, "serving");
  });

  gauge("smart_gateway_build_info", "Always 1; its labels say what runs.", ["version", "policy_version"], (set) => {
    set(1, sources.version ?? "unknown", policyVersion);
  });
  gauge("smart_gateway_config_info", "Always 1; the hash names the policy and registry in force.", ["hash"], (set) => {
    const config = sources.config?.();
    if (config !== undefined) set(1, config.hash);
  });
  gauge(
    "smart_gateway_config_last_reload_timestamp_seconds",
    "When the configuration in force was last found to be what the files say, seconds since the Unix epoch.",
    [],
    (set) => {
      const config = sources.config?.();
      if (config !== undefined) set(config.loadedAtMs / 1_000);
    },
  );
  gauge(
    "smart_gateway_config_last_reload_successful",
    "0 while the files say something that is not in force: refused, or not judged yet.",
    [],
    (set) => {
      const config = sources.config?.();
      if (config !== undefined) set(config.state === "current" ? 1 : 0);
    },
  );
  gauge("smart_gateway_active_streams", "Streams being sent to callers now.", [], (set) => {
    if (sources.activeStreams !== undefined) set(sources.activeStreams());
  });
  gauge("smart_gateway_requests_in_flight", "Chat requests being served now.", [], (set) => {
    if (sources.requestsInFlight !== undefined) set(sources.requestsInFlight());
  });
  gauge("smart_gateway_ledger_up", "1 while the budget store answers.", [], (set) => {
    if (sources.ledger !== undefined) set(sources.ledger().ok ? 1 : 0);
  });
  gauge("smart_gateway_ledger_queue_length", "Ledger operations that wait for the store.", [], (set) => {
    if (sources.ledger !== undefined) set(sources.ledger().queued);
  });
  gauge("smart_gateway_ledger_queue_oldest_seconds", "Age of the oldest waiting ledger operation.", [], (set) => {
    if (sources.ledger !== undefined) set(sources.ledger().oldestMs / 1_000);
  });
  gauge(
    "smart_gateway_held_usd",
    "Money held now in the whole store, in US dollars: by running calls, and by calls whose outcome is unknown.",
    ["state"],
    (set) => {
      for (const [state, { amount }] of Object.entries(sources.ledger?.().holds ?? {})) set(inUsd(amount), state);
    },
  );
  gauge("smart_gateway_holds", "Holds now in the whole store, running and unresolved.", ["state"], (set) => {
    for (const [state, { count }] of Object.entries(sources.ledger?.().holds ?? {})) set(count, state);
  });
  gauge("smart_gateway_model_health", "1 for the state a model is in, 0 for the others.", ["model", "state"], (set) => {
    for (const [model, { state }] of Object.entries(sources.health?.() ?? {})) {
      for (const label of healthLabels) set(label === state ? 1 : 0, modelLabel(model), label);
    }
  });
  gauge("smart_gateway_model_routable", "1 while a model may be sent traffic.", ["model"], (set) => {
    for (const [model, { routable }] of Object.entries(sources.health?.() ?? {}))
      set(routable ? 1 : 0, modelLabel(model));
  });
  gauge("smart_gateway_budget_cap_usd", "The policy's caps.", ["scope", "level"], (set) => {
    const caps = sources.caps?.();
    if (caps === undefined) return;
    set(inUsd(caps.goalSoft), "goal", "soft");
    set(inUsd(caps.goalHard), "goal", "hard");
    set(inUsd(caps.daySoft), "day", "soft");
    set(inUsd(caps.dayHard), "day", "hard");
  });
  gauge("smart_gateway_budget_day_usd", "Today's account (UTC) as this node last saw it.", ["part"], (set) => {
    const day = sources.day?.();
    if (day === undefined) return;
    set(inUsd(day.spent), "spent");
    set(inUsd(day.held), "held");
  });
  gauge(
    "smart_gateway_price_book_read_seconds",
    "When the aggregator's prices were last read, seconds since the Unix epoch.",
    [],
    (set) => {
      const readMs = sources.priceBookReadMs?.();
      if (readMs !== undefined) set(readMs / 1_000);
    },
  );
  gauge("smart_gateway_event_loop_delay_seconds", "How late the event loop runs its timers.", [], (set) => {
    if (sources.eventLoopDelayMs !== undefined) set(sources.eventLoopDelayMs() / 1_000);
  });
  const startedAt = Date.now() / 1_000 - process.uptime();
  gauge("process_start_time_seconds", "Start of the process, seconds since the Unix epoch.", [], (set) =>
    set(startedAt),
  );
  gauge("process_resident_memory_bytes", "Resident memory.", [], (set) => set(process.memoryUsage.rss()));
  gauge("process_open_fds", "Open file descriptors (Linux).", [], (set) => {
    const count = openDescriptors();
    if (count !== undefined) set(count);
  });
  gauge("process_max_fds", "Most file descriptors the process may open (Linux).", [], (set) => {
    const limit = descriptorLimit();
    if (limit !== undefined) set(limit);
  });
  const cpuSeconds = "Processor time, user and system.";
  declared.push({
    name: "process_cpu_seconds_total",
    type: "counter",
    across: "sum",
    help: cpuSeconds,
    labelNames: [],
  });
  new Counter({
    name: "process_cpu_seconds_total",
    help: cpuSeconds,
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1_000_000);
    },
  });

  function histogram(name: string, help: string, labelNames: string[], buckets: number[]): Histogram {
    declared.push({ name, type: "histogram", across: "sum", help, labelNames });
    const made = new Histogram({ name, help, labelNames, buckets });
    registry.registerMetric(made as unknown as Metric); // a registry only reads its name and what `get` tells
    return made;
  }

  /**
   * A counter that is added up here and handed over when someone scrapes: a request touches a dozen of them, and each would
   * cost more than all of them do now.
   */
  function tally<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
  ): (amount: number, ...labels: string[]) => void {
    declared.push({ name, type: "counter", across: "sum", help, labelNames });
    const pending = new Map<string, { readonly labels: string[]; amount: number }>();
    const counter = new Counter({
      name,
      help,
      labelNames: [...labelNames],
      registers,
      collect() {
        for (const { labels, amount } of pending.values()) counter.labels(...labels).inc(amount);
        pending.clear();
      },
    });
    return (amount, ...labels) => {
      // What an upstream reports ends up here: an absurd figure must not spoil the scrape.
      if (!(amount >= 0 && amount <= Number.MAX_SAFE_INTEGER)) return;
      const key = labels.join("\n");
      const cell = pending.get(key);
      if (cell === undefined) pending.set(key, { labels, amount });
      else cell.amount += amount;
    };
  }

  function gauge<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    read: (set: (value: number, ...labels: string[]) => void) => void,
  ): void {
    const across = gaugesAcross[name] ?? "max";
    declared.push({ name, type: "gauge", across, help, labelNames });
    new Gauge({
      name,
      help,
      aggregator: across,
      labelNames: [...labelNames],
      registers,
      collect() {
        this.reset();
        // A gauge without labels starts at 0 after a reset; one that nobody feeds must not claim that.
        if (labelNames.length === 0) this.remove();
        read((value, ...labels) => this.labels(...labels).set(value));
      },
    });
  }

  function tierOf(record: RequestRecord): TierLabel {
    const key = record.answeredBy ?? record.decision.model;
    const role = key === null ? undefined : sources.models?.().get(key)?.role;
    return role === undefined ? "none" : tierOfRole[role];
  }

  function account(record: RequestRecord, tier: TierLabel): void {
    const { decision, timings, alias } = record;
    const stream = record.stream ? "true" : "false";
    requests(1, alias, tier, decision.cause, String(record.status));
    outcomes(1, record.outcome, stream);
    decisionSeconds.observe(inSeconds(timings.decisionMs), "chat_completions");
    requestSeconds.observe(inSeconds(timings.totalMs), stream);
    if (decision.sensitive_block_applied) sensitiveBlocks(1);
    if (timings.firstTokenMs !== undefined && record.answeredBy !== null) {
      firstTokenSeconds.observe(inSeconds(timings.firstTokenMs), modelLabel(record.answeredBy));
    }
    let before: ModelKey | undefined;
    for (const attempt of record.attempts) {
      const model = modelLabel(attempt.model);
      attempts(1, model, attempt.purpose, attempt.outcome);
      upstreamSeconds.observe(inSeconds(attempt.durationMs), model);
      if (attempt.costNanoUsd !== undefined) cost(inUsd(attempt.costNanoUsd), model);
      if (attempt.usage !== undefined) {
        tokens(attempt.usage.input, model, "input");
        tokens(attempt.usage.cachedInput, model, "cached_input");
        if (attempt.usage.cacheWrite !== undefined) tokens(attempt.usage.cacheWrite, model, "cache_write");
        tokens(attempt.usage.output, model, "output");
        tokens(attempt.usage.reasoning, model, "reasoning");
      }
      if (attempt.otherModel !== undefined) otherModels(1, model);
      if (attempt.purpose === "SCOUT") continue;
      if (before !== undefined) retries(1, before === attempt.model ? "repeat" : "fail_over");
      before = attempt.model;
    }
    for (const field of record.forwardedFields ?? []) forwardedFields(1, fieldLabel(field));
    for (const { rule, count } of record.redactions) redactions(count, ruleLabel(rule));
  }

  return {
    requestFinished(record) {
      account(record, tierOf(record));
    },
    requestRejected(route, status) {
      rejections(1, route, String(status));
    },
    dryRunFinished({ cause }: { cause: Cause }, durationMs) {
      dryRuns(1, cause);
      decisionSeconds.observe(inSeconds(durationMs), "route_decision");
    },
    reservationAnswered(answer, heldNanoUsd = 0) {
      reservations(1, answer);
      if (answer === "held") held(inUsd(heldNanoUsd));
    },
    overrun(model, aboveNanoUsd) {
      overruns(inUsd(aboveNanoUsd), modelLabel(model));
    },
    costDistrusted(model) {
      distrusted(1, modelLabel(model));
    },
    billingAsked(answer) {
      billingAnswers(1, answer);
    },
    chargedWithoutProof(nanoUsd) {
      charged(inUsd(nanoUsd));
    },
    chargeCorrected(lessNanoUsd) {
      if (lessNanoUsd > 0) corrected(inUsd(lessNanoUsd));
    },
    priceDrifted(model, reason) {
      priceDrifts(1, modelLabel(model), reason);
    },
    healthChanged(model, to) {
      healthChanges(1, modelLabel(model), to);
    },
    workerExited(started) {
      workerExits(1, started ? "true" : "false");
    },
    configReloaded(result) {
      reloads(1, result);
    },
    observe(added) {
      Object.assign(sources, added);
    },
    text: () => registry.metrics(),
    snapshot: () => registry.getMetricsAsJSON() as Promise<unknown> as Promise<MetricSnapshot[]>, // typed loosely there
    catalog: () => declared,
    contentType: registry.contentType,
  };
}

/** Lets the first few values through and calls the rest `other`, whatever feeds it. */
function boundedLabel(): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= maxLabelValues || !/^[\w.:/-]{1,64}$/.test(value)) return "other";
    known.add(value);
    return value;
  };
}

function inSeconds(ms: number): number {
  return ms > 0 ? ms / 1_000 : 0;
}

function inUsd(nanoUsd: number): number {
  return nanoUsd / 1_000_000_000;
}

function openDescriptors(): number | undefined {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return undefined; // not Linux
  }
}

/** The soft limit of open files; undefined where there is no /proc or no limit. */
function descriptorLimit(): number | undefined {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined; // not Linux
  }
}
