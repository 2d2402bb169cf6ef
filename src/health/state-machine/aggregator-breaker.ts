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
  /** `opened` counts the openings without an answer between. */
  | {
      readonly kind: "open";
      readonly untilMs: number;
      readonly opened: number;
      readonly sinceMs: number;
      readonly reason: string;
      readonly firstProbe: number | undefined;
    }
  /** `probe`: the newest attempt let through; until `leaseUntilMs` no other is. `firstProbe`: the first since it opened. */
  | {
      readonly kind: "half_open";
      readonly probe: number;
      readonly firstProbe: number;
      readonly leaseUntilMs: number | null;
      readonly opened: number;
      readonly sinceMs: number;
      readonly reason: string;
    };

/** A refused connection is known by then; an answer may take minutes, and must not keep everybody waiting. */
const leaseMs = 5_000;

export const closedBreaker: Breaker = { kind: "closed", run: 0, models: [] };

/** An attempt failed before it reached any model. `probe` is the number the attempt was given, if it was the probe. */
export interface AggregatorFailure {
  readonly model: ModelKey;
  readonly probe: number | undefined;
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
  switch (breaker.kind) {
    case "open":
      return { breaker, blame: false };
    case "half_open":
      if (!isProbe(breaker, failure.probe)) return { breaker, blame: false };
      return {
        breaker: opened(breaker.opened + 1, failure, breaker.reason, rules, breaker.firstProbe),
        blame: false,
      };
    case "closed": {
      const run = breaker.run + 1;
      const models = breaker.models.includes(failure.model)
        ? breaker.models
        : [...breaker.models.slice(-7), failure.model];
      if (run < rules.aggregator_failures_in_a_row) return { breaker: { kind: "closed", run, models }, blame: false };
      if (models.length < 2 && failure.enabledModels > 1) {
        return { breaker: { kind: "closed", run, models }, blame: true };
      }
      const reason = `the aggregator failed ${run} times in a row${reasonSuffix(failure)}`;
      return { breaker: opened(1, failure, reason, rules), blame: false };
    }
  }
}

/** After an answer of a kind that only a reachable aggregator gives, to any attempt sent since the breaker opened. */
export function afterAnswer(breaker: Breaker, probe: number | undefined): Breaker {
  if (breaker.kind === "closed") return breaker.run === 0 ? breaker : closedBreaker;
  return isProbe(breaker, probe) ? closedBreaker : breaker;
}

function isProbe(breaker: Exclude<Breaker, { kind: "closed" }>, probe: number | undefined): boolean {
  return probe !== undefined && breaker.firstProbe !== undefined && probe >= breaker.firstProbe;
}

/** After an attempt that proves nothing: the probe may be given to another. */
export function afterNeutral(breaker: Breaker, probe: number | undefined): Breaker {
  return breaker.kind === "half_open" && breaker.probe === probe ? { ...breaker, leaseUntilMs: null } : breaker;
}

/** Whether an attempt may go out now. */
export function allowsAttempt(breaker: Breaker, ms: number): boolean {
  switch (breaker.kind) {
    case "closed":
      return true;
    case "open":
      return breaker.untilMs <= ms;
    case "half_open":
      return breaker.leaseUntilMs === null || breaker.leaseUntilMs <= ms;
  }
}

/** Takes the probe for an attempt that `lets` let through; a closed breaker needs none. */
export function withProbe(breaker: Breaker, probe: number, ms: number): Breaker {
  if (breaker.kind === "closed") return breaker;
  const { opened, sinceMs, reason, firstProbe = probe } = breaker;
  return { kind: "half_open", probe, firstProbe, leaseUntilMs: ms + leaseMs, opened, sinceMs, reason };
}

function opened(
  times: number,
  failure: AggregatorFailure,
  reason: string,
  rules: HealthRules,
  firstProbe?: number,
): Breaker {
  const pauseMs = Math.min(rules.aggregator_open_base_ms * 2 ** Math.min(times - 1, 30), rules.aggregator_open_max_ms);
  return { kind: "open", untilMs: failure.ms + pauseMs, opened: times, sinceMs: failure.ms, reason, firstProbe };
}
