import type { ModelKey } from "#domain/model.ts";
import type { Cause, RoutingDecision } from "#domain/routing.ts";
import type { RequestRecord } from "#records/record.ts";
import type { PriceDrift } from "#telemetry/log/log.ts";
import { declareGauges, type HealthLabel, type Sources } from "./gauges.ts";
import { inSeconds, inUsd } from "./labels.ts";
import type { MetricSnapshot } from "./merged-metrics.ts";
import { type Declaration, MetricsRegistry } from "./metrics-registry.ts";
import { declareProcessMetrics } from "./process-metrics.ts";
import { countRequest, declareEventMetrics } from "./request-metrics.ts";

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
  reservationAnswered(answer: ReservationAnswer, heldNanoUsd?: number): void;
  /** An upstream cost came out above its hold. */
  overrun(model: ModelKey, aboveNanoUsd: number): void;
  /** The upstream stated a cost that is too high to be believed. */
  costDistrusted(model: ModelKey): void;
  /** The aggregator was asked what it billed for a call of unknown outcome. */
  billingAsked(answer: "billed" | "distrusted" | "not_found" | "failed"): void;
  /** A hold was charged in full because the cost of its call stayed unknown, in nano-USD. */
  chargedWithoutProof(nanoUsd: number): void;
  /** The cost of a charged call became known: so much less (or more, where negative) than was charged. */
  chargeCorrected(lessNanoUsd: number): void;
  /** Our prices and the aggregator's have drifted apart. */
  priceDrifted(model: ModelKey, reason: PriceDrift): void;
  /** Decision records could not be kept. */
  recordsDropped(count: number): void;
  healthChanged(model: ModelKey, to: HealthLabel): void;
  /** A worker process has ended while it was to go on; `started`: whether it had ever served. */
  workerExited(started: boolean): void;
  configReloaded(result: "reloaded" | "unchanged" | "refused" | "failed"): void;
  /** Where the gauges look; later calls add to earlier ones. */
  observe(sources: Sources): void;
  /** The Prometheus text exposition. */
  text(): Promise<string>;
  /** The same as values, to be merged with those of other processes. */
  snapshot(): MetricSnapshot[];
  /** Every metric there is, for the reference. */
  catalog(): readonly Declaration[];
  readonly contentType: string;
}

const reservationAnswers = ["held", "refused_goal", "refused_day", "unavailable"] as const;
type ReservationAnswer = (typeof reservationAnswers)[number];

export const rejectedRoutes = [
  "chat_completions",
  "route_decision",
  "route_outcome",
  "route_status",
  "route_decisions",
  "models",
  "dashboard",
  "other",
] as const;
export type RejectedRoute = (typeof rejectedRoutes)[number];

export function createMetrics(): Metrics {
  const registry = new MetricsRegistry();
  const sources: { -readonly [K in keyof Sources]: Sources[K] } = {};
  const metrics = declareEventMetrics(registry);
  declareGauges(registry, sources, metrics.modelLabel);
  declareProcessMetrics(registry);

  // A series that appears at 1 has not increased: what alerts watch has to be there before it happens.
  const beginAtZero = () => {
    for (const answer of reservationAnswers) metrics.reservations(0, answer);
    for (const key of sources.models?.().keys() ?? []) {
      const model = metrics.modelLabel(key);
      metrics.overruns(0, model);
      metrics.distrusted(0, model);
    }
  };

  return {
    requestFinished(record) {
      // A scout's decision names the scout, also where the chosen model has not answered.
      const key = record.answeredBy ?? record.routed?.decision.model ?? record.decision.model;
      countRequest(metrics, record, key === null ? undefined : sources.models?.().get(key)?.role);
    },
    requestRejected(route, status) {
      metrics.rejections(1, route, String(status));
    },
    dryRunFinished({ cause }: { cause: Cause }, durationMs) {
      metrics.dryRuns(1, cause);
      metrics.decisionSeconds.observe(inSeconds(durationMs), "route_decision");
    },
    reservationAnswered(answer, heldNanoUsd = 0) {
      metrics.reservations(1, answer);
      if (answer === "held") metrics.held(inUsd(heldNanoUsd));
    },
    overrun(model, aboveNanoUsd) {
      metrics.overruns(inUsd(aboveNanoUsd), metrics.modelLabel(model));
    },
    costDistrusted(model) {
      metrics.distrusted(1, metrics.modelLabel(model));
    },
    billingAsked(answer) {
      metrics.billingAnswers(1, answer);
    },
    chargedWithoutProof(nanoUsd) {
      metrics.charged(inUsd(nanoUsd));
    },
    chargeCorrected(lessNanoUsd) {
      if (lessNanoUsd > 0) metrics.corrected(inUsd(lessNanoUsd));
    },
    priceDrifted(model, reason) {
      metrics.priceDrifts(1, metrics.modelLabel(model), reason);
    },
    recordsDropped(count) {
      metrics.droppedRecords(count);
    },
    healthChanged(model, to) {
      metrics.healthChanges(1, metrics.modelLabel(model), to);
    },
    workerExited(started) {
      metrics.workerExits(1, started ? "true" : "false");
    },
    configReloaded(result) {
      metrics.reloads(1, result);
    },
    observe(added) {
      Object.assign(sources, added);
    },
    text() {
      beginAtZero();
      return registry.text();
    },
    snapshot() {
      beginAtZero();
      return registry.snapshot();
    },
    catalog: () => registry.catalog,
    contentType: registry.contentType,
  };
}
