import type { ModelKey } from "#domain/model.ts";
import { reasonSuffix } from "./transitions.ts";

/**
 * The breaker of the aggregator itself. Connect, DNS and TLS failures speak of it and not of the model that was asked:
 * while it is open calls are refused, but for one a second, and no model's health changes. Pure, like the table.
 */
export type Breaker =
  /** `run` failures in a row so far, on `models`. */
  | { readonly kind: "closed"; readonly run: number; readonly models: readonly ModelKey[] }
  | {
      readonly kind: "open";
      readonly reason: string;
      /** When it opened: names the outage. Answers to attempts that were sent since then end it. */
      readonly sinceMs: number;
      readonly nextProbeMs: number;
    };

/**
 * Time between probes of the aggregator, and of the most senior model while all are out. A little less than a second,
 * so that callers are served within a second of an outage's end.
 */
export const probeEveryMs = 800;
const failuresInARow = 5;

export const closedBreaker: Breaker = { kind: "closed", run: 0, models: [] };

/** After an attempt on `model` that did not reach the aggregator, where so many models are `callable`. */
export function afterFailure(
  breaker: Breaker,
  failure: { readonly model: ModelKey; readonly reason: string; readonly callable: number; readonly ms: number },
): Breaker {
  if (breaker.kind === "open") return breaker;
  const { model, callable, ms } = failure;
  const run = breaker.run + 1;
  const models = breaker.models.includes(model) ? breaker.models : [...breaker.models.slice(-7), model];
  if (run < failuresInARow || models.length < Math.min(2, callable)) return { kind: "closed", run, models };
  const reason = `the aggregator could not be reached ${run} times in a row${reasonSuffix(failure)}`;
  return { kind: "open", reason, sinceMs: ms, nextProbeMs: ms + probeEveryMs };
}

/** After an answer of any kind, to an attempt of the `outage` that lasts: one sent before it proves nothing. */
export function afterAnswer(breaker: Breaker, outage: number | undefined): Breaker {
  if (breaker.kind === "closed") return breaker.run === 0 ? breaker : closedBreaker;
  return outage === breaker.sinceMs ? closedBreaker : breaker;
}

/** Whether an attempt may go out now. */
export function allowsAttempt(breaker: Breaker, ms: number): boolean {
  return breaker.kind === "closed" || breaker.nextProbeMs <= ms;
}

/** Takes the probe for an attempt that was let through; a closed breaker needs none. */
export function withProbe(breaker: Breaker, ms: number): Breaker {
  return breaker.kind === "closed" ? breaker : { ...breaker, nextProbeMs: ms + probeEveryMs };
}
