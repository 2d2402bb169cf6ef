import { type ModelKey, tierOfRole } from "#domain/model.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import type { RequestRecord } from "#records/record.ts";
import {
  type CounterMetric,
  counterDeclarations,
  type Declaration,
  histogramDeclarations,
  type MetricSnapshot,
  type ReadMetric,
  readDeclarations,
} from "./declarations.ts";
import { readProcess, readSources, type Sources } from "./gauges.ts";
import { HistogramSeries, Series } from "./series.ts";
import { contentType, expositionText } from "./snapshot.ts";

const fine = [0.000_02, 0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25];
const coarse = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

const reservationAnswers = ["held", "refused_goal", "refused_day", "refused_key", "unavailable"] as const;

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * The metrics of one gateway; several can live in one process. Labels come from closed unions, or from the operator's
 * files (model keys, rule ids), and then their number is bounded; nothing a caller sends becomes a label. Counting a
 * request costs a few microseconds; gauges are read only when someone scrapes.
 */
export function createMetrics() {
  const counters = keyed(counterDeclarations, () => new Series());
  const histograms = keyed(
    histogramDeclarations,
    (name) => new HistogramSeries(name === "smart_gateway_decision_duration_seconds" ? fine : coarse),
  );
  const sources: { -readonly [K in keyof Sources]: Sources[K] } = {};

  function countAttempts({ attempts }: RequestRecord): void {
    let before: ModelKey | undefined;
    for (const { model, purpose, outcome, durationMs, costNanoUsd, usage, otherModel } of attempts) {
      counters.smart_gateway_upstream_attempts_total.add(1, model, purpose, outcome);
      histograms.smart_gateway_upstream_duration_seconds.observe(inSeconds(durationMs), model);
      if (costNanoUsd !== undefined) counters.smart_gateway_cost_usd_total.add(inUsd(costNanoUsd), model);
      if (usage !== undefined) {
        counters.smart_gateway_tokens_total.add(usage.input, model, "input");
        counters.smart_gateway_tokens_total.add(usage.cachedInput, model, "cached_input");
        if (usage.cacheWrite !== undefined)
          counters.smart_gateway_tokens_total.add(usage.cacheWrite, model, "cache_write");
        counters.smart_gateway_tokens_total.add(usage.output, model, "output");
        counters.smart_gateway_tokens_total.add(usage.reasoning, model, "reasoning");
      }
      if (otherModel !== undefined) counters.smart_gateway_other_model_answers_total.add(1, model);
      if (purpose === "SCOUT") continue;
      if (before !== undefined) counters.smart_gateway_retries_total.add(1, before === model ? "repeat" : "fail_over");
      before = model;
    }
  }

  function snapshot(): MetricSnapshot[] {
    // A series that appears at 1 has not increased: what alerts watch has to be there before it happens.
    for (const { name, labelNames } of counterDeclarations) if (labelNames.length === 0) counters[name].add(0);
    for (const answer of reservationAnswers) counters.smart_gateway_reservations_total.add(0, answer);
    for (const key of sources.models?.().keys() ?? []) {
      counters.smart_gateway_overrun_usd_total.add(0, key);
      counters.smart_gateway_distrusted_costs_total.add(0, key);
    }
    const read = keyed(readDeclarations, () => new Series());
    const set = (name: ReadMetric, value: number | undefined, ...labels: string[]) => {
      if (value !== undefined) read[name].set(value, labels);
    };
    readSources(sources, set);
    readProcess(set);
    return [
      ...counterDeclarations.map((metric) => ({ ...metric, values: counters[metric.name].samples(metric.labelNames) })),
      ...histogramDeclarations.map((metric) => ({
        ...metric,
        values: histograms[metric.name].samples(metric.name, metric.labelNames),
      })),
      ...readDeclarations.map((metric) => ({ ...metric, values: read[metric.name].samples(metric.labelNames) })),
    ];
  }

  /** Adds to a counter, with its labels in the order of its declaration. Of money the amount is nano-USD. */
  function count(name: CounterMetric, amount: number, first?: string, second?: string): void {
    counters[name].add(name.endsWith("_usd_total") ? inUsd(amount) : amount, first, second);
  }

  return {
    count,
    /** A chat request has its record. */
    requestFinished(record: RequestRecord): void {
      const { decision, timings, alias, answeredBy } = record;
      // A scout's decision names the scout, also where the chosen model has not answered.
      const key = answeredBy ?? record.routed?.decision.model ?? decision.model;
      const role = key === null ? undefined : sources.models?.().get(key)?.role;
      const tier = role === undefined ? "none" : tierOfRole[role];
      const stream = record.stream ? "true" : "false";
      counters.smart_gateway_requests_total.add(1, alias, tier, decision.cause, String(record.status));
      count("smart_gateway_request_outcomes_total", 1, record.outcome, stream);
      histograms.smart_gateway_decision_duration_seconds.observe(inSeconds(timings.decisionMs), "chat_completions");
      histograms.smart_gateway_request_duration_seconds.observe(inSeconds(timings.totalMs), stream);
      if (decision.sensitive_block_applied) count("smart_gateway_sensitive_blocks_total", 1);
      if (timings.firstTokenMs !== undefined && answeredBy !== null) {
        histograms.smart_gateway_time_to_first_token_seconds.observe(inSeconds(timings.firstTokenMs), answeredBy);
      }
      countAttempts(record);
      if (record.label !== undefined) {
        count("smart_gateway_token_requests_total", 1, record.label);
        count("smart_gateway_token_cost_usd_total", record.costNanoUsd, record.label);
      }
      for (const field of record.forwardedFields ?? []) count("smart_gateway_forwarded_fields_total", 1, field);
      for (const redaction of record.redactions) {
        count("smart_gateway_redactions_total", redaction.count, redaction.rule);
      }
    },
    dryRunFinished({ cause }: Pick<RoutingDecision, "cause">, durationMs: number): void {
      count("smart_gateway_dry_runs_total", 1, cause);
      histograms.smart_gateway_decision_duration_seconds.observe(inSeconds(durationMs), "route_decision");
    },
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

/** One value for each declaration, by its name. */
function keyed<Name extends string, T>(
  declarations: readonly Declaration<Name>[],
  make: (name: Name) => T,
): Record<Name, T> {
  return Object.fromEntries(declarations.map(({ name }) => [name, make(name)])) as Record<Name, T>; // one for each name
}

function inSeconds(ms: number): number {
  return ms > 0 ? ms / 1_000 : 0;
}

function inUsd(nanoUsd: number): number {
  return nanoUsd / 1_000_000_000;
}
