import type { ModelKey } from "#domain/model.ts";
import type { HealthRules } from "./model-health.ts";
import { reasonSuffix } from "./transition-steps.ts";

/**
 * The breaker of the aggregator itself. Connect, DNS and TLS failures and refused credentials speak of it and not of the
 * model that happened to be asked: while it is open no model is, and no model's health changes. Pure, like the table.
 */
export type Breaker =
  /** `run` failures in a row so far, on `models`. */
  | { readonly kind: "closed"; readonly run: number; readonly models: readonly ModelKey[] }
  /** No attempt goes out before `untilMs`: the end of the pause, or of the time that the probe may take. */
  | {
      readonly kind: "open" | "half_open";
      readonly untilMs: number;
      readonly sinceMs: number;
      readonly reason: string;
      /** When it first opened, without an answer since: names the outage. Its probes count, attempts sent before it do not. */
      readonly outage: number;
    };

/** A refused connection is known by then; an answer may take minutes, and must not keep everybody waiting. */
const leaseMs = 5_000;

export const closedBreaker: Breaker = { kind: "closed", run: 0, models: [] };

/** An attempt failed before it reached any model. */
export interface AggregatorFailure {
  readonly model: ModelKey;
  /** The outage that the attempt was a probe of, if it was one. */
  readonly outage: number | undefined;
  readonly reason: string;
  /** How many models are enabled at all: with a single one, it alone must be able to open the breaker. */
  readonly enabledModels: number;
  readonly ms: number;
}

/**
 * After a failure. It opens after N in a row over two models or more. When all N came from one of several models, nothing
 * tells the model and the aggregator apart: then the model is to `blame`, traffic moves to the next, and if that fails in
 * the same way the run covers two models and the breaker opens.
 */
export function afterFailure(
  breaker: Breaker,
  failure: AggregatorFailure,
  rules: HealthRules,
): { breaker: Breaker; blame: boolean } {
  const { ms } = failure;
  if (breaker.kind !== "closed") {
    const isProbe = breaker.kind === "half_open" && failure.outage === breaker.outage;
    return { breaker: isProbe ? opened(ms, breaker.outage, breaker.reason, rules) : breaker, blame: false };
  }
  const run = breaker.run + 1;
  const models = breaker.models.includes(failure.model) ? breaker.models : [...breaker.models.slice(-7), failure.model];
  const isOverdue = run >= rules.aggregator_failures_in_a_row;
  if (!isOverdue || (models.length < 2 && failure.enabledModels > 1)) {
    return { breaker: { kind: "closed", run, models }, blame: isOverdue };
  }
  const reason = `the aggregator failed ${run} times in a row${reasonSuffix(failure)}`;
  return { breaker: opened(ms, ms, reason, rules), blame: false };
}

/** After an answer of a kind that only a reachable aggregator gives, to any attempt sent since the breaker first opened. */
export function afterAnswer(breaker: Breaker, outage: number | undefined): Breaker {
  if (breaker.kind === "closed") return breaker.run === 0 ? breaker : closedBreaker;
  return outage === breaker.outage ? closedBreaker : breaker;
}

/** After an attempt that proves nothing: another may probe. */
export function afterNeutral(breaker: Breaker, outage: number | undefined): Breaker {
  return breaker.kind === "half_open" && breaker.outage === outage ? { ...breaker, untilMs: 0 } : breaker;
}

/** Whether an attempt may go out now. */
export function allowsAttempt(breaker: Breaker, ms: number): boolean {
  return breaker.kind === "closed" || breaker.untilMs <= ms;
}

/** Takes the probe for an attempt that was let through; a closed breaker needs none. */
export function withProbe(breaker: Breaker, ms: number): Breaker {
  return breaker.kind === "closed" ? breaker : { ...breaker, kind: "half_open", untilMs: ms + leaseMs };
}

/** The pause is a sixteenth of the outage so far: most probes of an aggregator that is away cost milliseconds. */
function opened(ms: number, outage: number, reason: string, rules: HealthRules): Breaker {
  const { aggregator_open_base_ms: leastMs, aggregator_open_max_ms: mostMs } = rules;
  const pauseMs = Math.min(Math.max(leastMs, (ms - outage) / 16), Math.max(leastMs, mostMs));
  return { kind: "open", untilMs: ms + pauseMs, sinceMs: ms, reason, outage };
}
