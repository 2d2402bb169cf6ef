import { type ModelKey, tierOfRole } from "#domain/model.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import type { RequestRecord } from "#records/record.ts";
import type { PriceDrift } from "#telemetry/log/log.ts";
import {
  counterDeclarations,
  type Declaration,
  histogramDeclarations,
  type ReadMetric,
  readDeclarations,
} from "./declarations.ts";
import { type HealthLabel, readProcess, readSources, type Sources } from "./gauges.ts";
import { CounterSeries, HistogramSeries } from "./series.ts";
import { contentType, expositionText, type MetricSnapshot, type SampleSnapshot } from "./snapshot.ts";

const fine = [0.000_02, 0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25];
const coarse = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

const reservationAnswers = ["held", "refused_goal", "refused_day", "refused_key", "unavailable"] as const;
type ReservationAnswer = (typeof reservationAnswers)[number];

export type RejectedRoute =
  | "chat_completions"
  | "route_decision"
  | "route_outcome"
  | "route_status"
  | "route_decisions"
  | "models"
  | "dashboard"
  | "other";

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * The metrics of one gateway; several can live in one process. Labels come from closed unions, or from the operator's files (model
 * keys, rule ids), and then their number is bounded; nothing a caller sends becomes a label. Counting a request costs a few
 * microseconds; gauges are read only when someone scrapes.
 */
export function createMetrics() {
  const counters = keyed(counterDeclarations, () => new CounterSeries());
  const histograms = keyed(
    histogramDeclarations,
    (name) => new HistogramSeries(name === "smart_gateway_decision_duration_seconds" ? fine : coarse),
  );
  const [modelLabel, ruleLabel, fieldLabel, tokenLabel] = [
    boundedLabel(),
    boundedLabel(),
    boundedLabel(),
    boundedLabel(),
  ];
  const sources: { -readonly [K in keyof Sources]: Sources[K] } = {};

  function countAttempts({ attempts }: RequestRecord): void {
    let before: ModelKey | undefined;
    for (const { model, purpose, outcome, durationMs, costNanoUsd, usage, otherModel } of attempts) {
      const label = modelLabel(model);
      counters.smart_gateway_upstream_attempts_total.add(1, label, purpose, outcome);
      histograms.smart_gateway_upstream_duration_seconds.observe(inSeconds(durationMs), label);
      if (costNanoUsd !== undefined) counters.smart_gateway_cost_usd_total.add(inUsd(costNanoUsd), label);
      if (usage !== undefined) {
        counters.smart_gateway_tokens_total.add(usage.input, label, "input");
        counters.smart_gateway_tokens_total.add(usage.cachedInput, label, "cached_input");
        if (usage.cacheWrite !== undefined)
          counters.smart_gateway_tokens_total.add(usage.cacheWrite, label, "cache_write");
        counters.smart_gateway_tokens_total.add(usage.output, label, "output");
        counters.smart_gateway_tokens_total.add(usage.reasoning, label, "reasoning");
      }
      if (otherModel !== undefined) counters.smart_gateway_other_model_answers_total.add(1, label);
      if (purpose === "SCOUT") continue;
      if (before !== undefined) counters.smart_gateway_retries_total.add(1, before === model ? "repeat" : "fail_over");
      before = model;
    }
  }

  function snapshot(): MetricSnapshot[] {
    // A series that appears at 1 has not increased: what alerts watch has to be there before it happens.
    for (const answer of reservationAnswers) counters.smart_gateway_reservations_total.add(0, answer);
    for (const key of sources.models?.().keys() ?? []) {
      counters.smart_gateway_overrun_usd_total.add(0, modelLabel(key));
      counters.smart_gateway_distrusted_costs_total.add(0, modelLabel(key));
    }
    // Of two values for the same labels the later one counts.
    const read = keyed(readDeclarations, () => new Map<string, SampleSnapshot>());
    const set = (name: ReadMetric, value: number | undefined, ...values: string[]) => {
      if (value === undefined) return;
      const labels = Object.fromEntries(values.map((label, index) => [labelNames.get(name)?.[index] ?? "", label]));
      read[name].set(values.join("\n"), { labels, value });
    };
    readSources(sources, set, modelLabel);
    readProcess(set);
    return [
      ...counterDeclarations.map((declared) => {
        // One without labels is there before it counts.
        if (declared.labelNames.length === 0) counters[declared.name].add(0);
        return withSamples(declared, counters[declared.name].samples(declared.labelNames));
      }),
      ...histogramDeclarations.map((declared) => withSamples(declared, histograms[declared.name].samples(declared))),
      ...readDeclarations.map((declared) => withSamples(declared, [...read[declared.name].values()])),
    ];
  }

  return {
    /** A chat request has its record. */
    requestFinished(record: RequestRecord): void {
      const { decision, timings, alias, answeredBy } = record;
      // A scout's decision names the scout, also where the chosen model has not answered.
      const key = answeredBy ?? record.routed?.decision.model ?? decision.model;
      const role = key === null ? undefined : sources.models?.().get(key)?.role;
      const tier = role === undefined ? "none" : tierOfRole[role];
      const stream = record.stream ? "true" : "false";
      counters.smart_gateway_requests_total.add(1, alias, tier, decision.cause, String(record.status));
      counters.smart_gateway_request_outcomes_total.add(1, record.outcome, stream);
      histograms.smart_gateway_decision_duration_seconds.observe(inSeconds(timings.decisionMs), "chat_completions");
      histograms.smart_gateway_request_duration_seconds.observe(inSeconds(timings.totalMs), stream);
      if (decision.sensitive_block_applied) counters.smart_gateway_sensitive_blocks_total.add(1);
      if (timings.firstTokenMs !== undefined && answeredBy !== null) {
        histograms.smart_gateway_time_to_first_token_seconds.observe(
          inSeconds(timings.firstTokenMs),
          modelLabel(answeredBy),
        );
      }
      countAttempts(record);
      if (record.label !== undefined) {
        const label = tokenLabel(record.label);
        counters.smart_gateway_token_requests_total.add(1, label);
        counters.smart_gateway_token_cost_usd_total.add(inUsd(record.costNanoUsd), label);
      }
      for (const field of record.forwardedFields ?? [])
        counters.smart_gateway_forwarded_fields_total.add(1, fieldLabel(field));
      for (const { rule, count } of record.redactions)
        counters.smart_gateway_redactions_total.add(count, ruleLabel(rule));
    },
    /** Refused at the edge, before there was a decision. */
    requestRejected: (route: RejectedRoute, status: number) =>
      counters.smart_gateway_rejections_total.add(1, route, String(status)),
    dryRunFinished({ cause }: Pick<RoutingDecision, "cause">, durationMs: number): void {
      counters.smart_gateway_dry_runs_total.add(1, cause);
      histograms.smart_gateway_decision_duration_seconds.observe(inSeconds(durationMs), "route_decision");
    },
    /** A reservation was answered. `held` is the hold in nano-USD. */
    reservationAnswered(answer: ReservationAnswer, heldNanoUsd = 0): void {
      counters.smart_gateway_reservations_total.add(1, answer);
      if (answer === "held") counters.smart_gateway_held_usd_total.add(inUsd(heldNanoUsd));
    },
    /** An upstream cost came out above its hold. */
    overrun: (model: ModelKey, aboveNanoUsd: number) =>
      counters.smart_gateway_overrun_usd_total.add(inUsd(aboveNanoUsd), modelLabel(model)),
    /** The upstream stated a cost that is too high to be believed. */
    costDistrusted: (model: ModelKey) => counters.smart_gateway_distrusted_costs_total.add(1, modelLabel(model)),
    /** The aggregator was asked what it billed for a call of unknown outcome. */
    billingAsked: (answer: "billed" | "distrusted" | "not_found" | "failed") =>
      counters.smart_gateway_billing_lookups_total.add(1, answer),
    /** A hold was charged in full because the cost of its call stayed unknown. */
    chargedWithoutProof: (nanoUsd: number) =>
      counters.smart_gateway_charged_without_proof_usd_total.add(inUsd(nanoUsd)),
    /** The cost of a charged call became known: so much less (or more, where negative) than was charged. */
    chargeCorrected(lessNanoUsd: number): void {
      if (lessNanoUsd > 0) counters.smart_gateway_charges_corrected_usd_total.add(inUsd(lessNanoUsd));
    },
    /** Our prices and the aggregator's have drifted apart. */
    priceDrifted: (model: ModelKey, reason: PriceDrift) =>
      counters.smart_gateway_price_drift_total.add(1, modelLabel(model), reason),
    /** Decision records could not be kept. */
    recordsDropped: (count: number) => counters.smart_gateway_records_dropped_total.add(count),
    healthChanged: (model: ModelKey, to: HealthLabel) =>
      counters.smart_gateway_model_health_changes_total.add(1, modelLabel(model), to),
    /** A worker process has ended while it was to go on; `started`: whether it had ever served. */
    workerExited: (started: boolean) => counters.smart_gateway_worker_exits_total.add(1, started ? "true" : "false"),
    configReloaded: (result: "reloaded" | "unchanged" | "refused") =>
      counters.smart_gateway_config_reloads_total.add(1, result),
    /** Where the gauges look; later calls add to earlier ones. */
    observe(added: Sources): void {
      Object.assign(sources, added);
    },
    /** The Prometheus text exposition. */
    text: (): Promise<string> => expositionText(snapshot()),
    /** The same as values, to be merged with those of other processes. */
    snapshot,
    /** Every metric there is, for the reference. */
    catalog: (): readonly Declaration[] => [...counterDeclarations, ...histogramDeclarations, ...readDeclarations],
    contentType,
  };
}

const labelNames = new Map<string, readonly string[]>(
  readDeclarations.map((declaration) => [declaration.name, declaration.labelNames]),
);

/** One value for each declaration, by its name. */
function keyed<Name extends string, T>(
  declarations: readonly Declaration<Name>[],
  make: (name: Name) => T,
): Record<Name, T> {
  return Object.fromEntries(declarations.map(({ name }) => [name, make(name)])) as Record<Name, T>; // one for each name
}

function withSamples(declared: Declaration, values: readonly SampleSnapshot[]): MetricSnapshot {
  const { name, help, type, aggregation } = declared;
  return { name, help, type, aggregator: aggregation, values };
}
/** Distinct values that a label from the operator's files may take before the rest count as `other`. */
const maxLabelValues = 256;

/** Keeps the first few values and replaces all others by `other`, so that the number of samples is bounded. */
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
