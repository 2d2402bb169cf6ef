import type { JsonObject, ReceivedBody } from "#domain/chat.ts";
import type { Model, Price } from "#domain/model.ts";
import type { NanoUsd } from "#domain/money/money.ts";
import type { TraceContext } from "#domain/trace-context.ts";
import type { Permit } from "#health/health.ts";
import type { GoalId } from "#ledger/ledger.ts";
import { holdOf, outputBoundOf, priceOf } from "#pipeline/decide/select/budget.ts";
import { fallbacksFor } from "#pipeline/decide/select/select-model.ts";
import type { Configuration, Ports } from "#pipeline/ports.ts";
import { type RequestContext, type RoutedDecision, streamContextOf } from "#pipeline/request-context.ts";
import type { AttemptRecord } from "#records/record.ts";
import { abandonedCost } from "./abandoned-cost.ts";
import type { AttemptCloser } from "./attempt.ts";
import { forwardedBody } from "./call/forwarded-body.ts";
import { priceLimitOf } from "./call/price-limit.ts";
import { ignoreCallerFaults } from "./caller-faults.ts";
import { mayShed } from "./may-shed.ts";

/** What is to be executed: the models to try in order, and how to make the call for each. */
export interface ExecutionPlan {
  readonly decisionId: string;
  readonly goal: GoalId;
  readonly stream: boolean;
  readonly purpose: AttemptRecord["purpose"];
  /** The models in the order in which they are tried, by index from 0; undefined after the last. */
  readonly candidate: (index: number) => Model | undefined;
  readonly bodyFor: (model: Model) => JsonObject;
  /** What such a body is made of, where the bytes that were received may be sent. */
  readonly received?: ReceivedBody | undefined;
  /** Approximate length of such a body. */
  readonly bodyBytes: number;
  readonly holdFor: (model: Model) => NanoUsd;
  /** The prices that the hold is computed with. */
  readonly priceFor: (model: Model) => Price;
  /** The permit that reports this request's verdicts about the model's health; absent where the request is our own. */
  readonly permitFor?: (permit: Permit, model: Model) => Permit;
  /** See `OpenAttempt.pricedByCost`. */
  readonly pricedByCost: boolean;
  /** The caller's own `provider` narrows the choice of hosts: that none is left says nothing about our prices then. */
  readonly hostsNarrowed: boolean;
  /** Number of the first attempt; unique within the decision together with those that follow. */
  readonly firstAttempt: number;
  readonly trace?: TraceContext | undefined;
  readonly maxAttempts: number;
  readonly configuration: Configuration;
  /** Monotonic milliseconds at which the request must have ended. */
  readonly deadlineMs: number;
  /** What a call cancelled at once is billed at least; see `abandonedCost`. */
  readonly abandonedCost: (model: Model) => NanoUsd | undefined;
  readonly closer: AttemptCloser;
}

/** Attempts of the scout and of the answer have different numbers, because both belong to one decision in the ledger. */
export const scoutAttempt = 1;
const firstAnswerAttempt = 2;

/** The plan for a routed request: its model, then the fallback chain. */
export function planExecution(
  context: RequestContext,
  routed: RoutedDecision,
  closer: AttemptCloser,
  ports: Ports,
): ExecutionPlan {
  const { request, configuration, redacted, assessment, recorder, deadlineMs } = context;
  const { size } = assessment;
  return {
    decisionId: recorder.decisionId,
    goal: assessment.task.goal_id,
    stream: request.stream,
    trace: request.trace,
    purpose: "EXECUTE",
    candidate: candidatesOf(routed, context, ports),
    received: request.received,
    bodyBytes: request.bodyBytes,
    // The hold covers more than the model can write where a caller grants it to reasoning; the call never asks for more.
    bodyFor: (model) =>
      forwardedBody(
        request,
        redacted.body,
        model,
        Math.min(outputBoundOf(model, size), model.maxOutputTokens),
        priceLimitOf(model, size, configuration),
      ),
    holdFor: (model) => holdOf(model, size),
    priceFor: (model) => priceOf(model, size),
    permitFor: (permit, model) => {
      const compared = ports.callerEvidence.permitFor(permit, request.caller);
      return ignoreCallerFaults(compared, model, { body: request.body, size });
    },
    firstAttempt: firstAnswerAttempt,
    maxAttempts: configuration.policy.upstream.max_attempts,
    configuration,
    deadlineMs,
    pricedByCost: request.surcharge !== undefined,
    hostsNarrowed: request.body["provider"] != null,
    abandonedCost: (model) => abandonedCost(priceOf(model, size), holdOf(model, size), 0, streamContextOf(context)),
    closer,
  };
}

/** The decision's model, then its fallbacks. Most requests need none, so they are computed when one is asked for. */
function candidatesOf(routed: RoutedDecision, context: RequestContext, ports: Ports): ExecutionPlan["candidate"] {
  const { models } = context.configuration.registry;
  const selected = routed.decision.model ?? "";
  const first = models.get(selected);
  let chain: readonly Model[] | undefined;
  const chainOf = () => {
    const fallbacks = fallbacksFor(selected, routed.decision.hard_rule, routed.snapshot);
    return [selected, ...fallbacks].flatMap((key) => models.get(key) ?? []);
  };
  // A degraded model sheds a share of its requests: the first fallback is then tried before it.
  if (ports.health.shed(selected)) {
    chain = chainOf();
    const next = chain[1];
    if (next !== undefined && mayShed(first, next, context)) chain = [...chain.slice(1), ...chain.slice(0, 1)];
  }
  return (index) => {
    if (index === 0 && chain === undefined && first !== undefined) return first;
    chain ??= chainOf();
    return chain[index];
  };
}
