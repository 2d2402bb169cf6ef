import { type ModelKey, type Role, tierOfRole } from "#domain/model.ts";
import type { RequestRecord } from "#records/record.ts";
import { boundedLabel, inSeconds, inUsd } from "./labels.ts";
import type { MetricsRegistry } from "./metrics-registry.ts";

const fine = [0.000_02, 0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25];
const coarse = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

export type EventMetrics = ReturnType<typeof declareEventMetrics>;

/** Counters and histograms that events add to, with the bounded labels from the operator's files. */
export function declareEventMetrics(registry: MetricsRegistry) {
  return {
    modelLabel: boundedLabel(),
    ruleLabel: boundedLabel(),
    fieldLabel: boundedLabel(),
    requests: registry.counter(
      "smart_gateway_requests_total",
      "Chat requests, by alias, tier of the model that answered (or was chosen), cause of the decision, and status.",
      ["alias", "tier", "cause", "status"],
    ),
    outcomes: registry.counter(
      "smart_gateway_request_outcomes_total",
      "Chat requests, by how they ended and whether they streamed.",
      ["outcome", "stream"],
    ),
    rejections: registry.counter(
      "smart_gateway_rejections_total",
      "Requests refused before there was a decision (400, 401, 404, 405, 413, 422 …).",
      ["route", "status"],
    ),
    dryRuns: registry.counter("smart_gateway_dry_runs_total", "Dry runs of the decision, by cause.", ["cause"]),
    decisionSeconds: registry.histogram(
      "smart_gateway_decision_duration_seconds",
      "From the last byte of the request to the decision: parsing, redaction, assessment, policy.",
      ["endpoint"],
      fine,
    ),
    requestSeconds: registry.histogram(
      "smart_gateway_request_duration_seconds",
      "Duration of chat requests, from the last byte of the request to the last byte of the answer.",
      ["stream"],
      coarse,
    ),
    firstTokenSeconds: registry.histogram(
      "smart_gateway_time_to_first_token_seconds",
      "From dispatch to the first byte or event of the answer, by the model that answered.",
      ["model"],
      coarse,
    ),
    upstreamSeconds: registry.histogram(
      "smart_gateway_upstream_duration_seconds",
      "Duration of single calls to the upstream, by model.",
      ["model"],
      coarse,
    ),
    attempts: registry.counter(
      "smart_gateway_upstream_attempts_total",
      "Calls to the upstream, by model, purpose and outcome (answered, or the kind of failure).",
      ["model", "purpose", "outcome"],
    ),
    retries: registry.counter(
      "smart_gateway_retries_total",
      "Calls beyond a request's first: retries on the same model, and fail-overs to the next.",
      ["kind"],
    ),
    tokens: registry.counter(
      "smart_gateway_tokens_total",
      "Tokens as the upstream counts them. Input includes cached_input and cache_write, output includes reasoning.",
      ["model", "kind"],
    ),
    cost: registry.counter(
      "smart_gateway_cost_usd_total",
      "Known cost of upstream calls in US dollars, by model. Caps are enforced by the ledger, not by this metric.",
      ["model"],
    ),
    otherModels: registry.counter(
      "smart_gateway_other_model_answers_total",
      "Answers that, according to the upstream, another model wrote, by the model that was asked.",
      ["model"],
    ),
    forwardedFields: registry.counter(
      "smart_gateway_forwarded_fields_total",
      "Request fields forwarded although they may change model, terms or price (policy upstream.fields), by field.",
      ["field"],
    ),
    redactions: registry.counter(
      "smart_gateway_redactions_total",
      "Values that the privacy gate has found, by rule. They are replaced, except in tool definitions and response formats.",
      ["rule"],
    ),
    sensitiveBlocks: registry.counter(
      "smart_gateway_sensitive_blocks_total",
      "Decisions in which the privacy gate forced a downgrade or denial.",
      [],
    ),
    reservations: registry.counter(
      "smart_gateway_reservations_total",
      "Requests for a reservation, by the ledger's answer.",
      ["answer"],
    ),
    held: registry.counter(
      "smart_gateway_held_usd_total",
      "Money that was held before calls, in US dollars: the sum of all holds.",
      [],
    ),
    overruns: registry.counter(
      "smart_gateway_overrun_usd_total",
      "Upstream cost above the hold, in US dollars. Anything but 0 means that a price in the registry is wrong.",
      ["model"],
    ),
    distrusted: registry.counter(
      "smart_gateway_distrusted_costs_total",
      "Costs stated by the upstream that are too far above the hold to be accepted (budget.absurd_cost_factor), by model.",
      ["model"],
    ),
    billingAnswers: registry.counter(
      "smart_gateway_billing_lookups_total",
      "Queries to the aggregator for the billed cost of a call of unknown outcome, by answer (not_found: not yet known).",
      ["answer"],
    ),
    charged: registry.counter(
      "smart_gateway_charged_without_proof_usd_total",
      "Holds charged in full because the cost of the call stayed unknown (deadline passed, caller left), in US dollars.",
      [],
    ),
    corrected: registry.counter(
      "smart_gateway_charges_corrected_usd_total",
      "Money given back because a call's cost became known after its hold was charged, in US dollars.",
      [],
    ),
    priceDrifts: registry.counter(
      "smart_gateway_price_drift_total",
      "Differences between the registry and the aggregator, counted when they appear, by model and reason (docs/operating.md).",
      ["model", "reason"],
    ),
    healthChanges: registry.counter(
      "smart_gateway_model_health_changes_total",
      "Changes of a model's health, by the state entered.",
      ["model", "to"],
    ),
    reloads: registry.counter("smart_gateway_config_reloads_total", "Reloads of policy and registry, by result.", [
      "result",
    ]),

    droppedRecords: registry.counter(
      "smart_gateway_records_dropped_total",
      "Decision records that were lost because too many waited for the store. Ledger operations are never dropped.",
      [],
    ),
    workerExits: registry.counter(
      "smart_gateway_worker_exits_total",
      "Worker processes that exited without a signal to stop, by whether they had started to serve (WORKERS above 1).",
      ["started"],
    ),
  };
}

/** Counts a finished request. `role` is that of the model that answered, or was chosen; undefined where there was none. */
export function countRequest(metrics: EventMetrics, record: RequestRecord, role: Role | undefined): void {
  const tier = role === undefined ? "none" : tierOfRole[role];
  const { decision, timings, alias } = record;
  const stream = record.stream ? "true" : "false";
  metrics.requests(1, alias, tier, decision.cause, String(record.status));
  metrics.outcomes(1, record.outcome, stream);
  metrics.decisionSeconds.observe(inSeconds(timings.decisionMs), "chat_completions");
  metrics.requestSeconds.observe(inSeconds(timings.totalMs), stream);
  if (decision.sensitive_block_applied) metrics.sensitiveBlocks(1);
  if (timings.firstTokenMs !== undefined && record.answeredBy !== null) {
    metrics.firstTokenSeconds.observe(inSeconds(timings.firstTokenMs), metrics.modelLabel(record.answeredBy));
  }
  let before: ModelKey | undefined;
  for (const attempt of record.attempts) {
    const model = metrics.modelLabel(attempt.model);
    metrics.attempts(1, model, attempt.purpose, attempt.outcome);
    metrics.upstreamSeconds.observe(inSeconds(attempt.durationMs), model);
    if (attempt.costNanoUsd !== undefined) metrics.cost(inUsd(attempt.costNanoUsd), model);
    if (attempt.usage !== undefined) {
      metrics.tokens(attempt.usage.input, model, "input");
      metrics.tokens(attempt.usage.cachedInput, model, "cached_input");
      if (attempt.usage.cacheWrite !== undefined) metrics.tokens(attempt.usage.cacheWrite, model, "cache_write");
      metrics.tokens(attempt.usage.output, model, "output");
      metrics.tokens(attempt.usage.reasoning, model, "reasoning");
    }
    if (attempt.otherModel !== undefined) metrics.otherModels(1, model);
    if (attempt.purpose === "SCOUT") continue;
    if (before !== undefined) metrics.retries(1, before === attempt.model ? "repeat" : "fail_over");
    before = attempt.model;
  }
  for (const field of record.forwardedFields ?? []) metrics.forwardedFields(1, metrics.fieldLabel(field));
  for (const { rule, count } of record.redactions) metrics.redactions(count, metrics.ruleLabel(rule));
}
