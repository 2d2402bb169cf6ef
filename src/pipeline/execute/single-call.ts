import type { JsonObject } from "#domain/chat.ts";
import { otherModel } from "#domain/model-names.ts";
import { inputBoundOf } from "#domain/money/input-bound.ts";
import type { RequestSize } from "#pipeline/assess/request-size.ts";
import { holdOf, priceOf } from "#pipeline/decide/select/budget.ts";
import type { Ports } from "#pipeline/ports.ts";
import type { RequestContext } from "#pipeline/request-context.ts";
import type { ScoutCall } from "#pipeline/scout/ask-scout.ts";
import { LightAbortController } from "#platform/abort.ts";
import type { AttemptCloser, CallSettlement } from "./attempt.ts";
import { priceLimitOf, withPriceLimit } from "./call/price-limit.ts";
import { execute } from "./execute.ts";
import { type ExecutionPlan, scoutAttempt } from "./plan.ts";

/**
 * Executes and settles a call that the gateway makes for itself: one attempt at one model, which ends with the call's time or with the
 * request's deadline. The model's answer; undefined when it brought none in time, or the caller disconnected.
 */
export async function executeSingleCall(
  call: ScoutCall,
  context: RequestContext,
  settlement: CallSettlement,
  ports: Ports,
): Promise<JsonObject | undefined> {
  const { recorder, caller } = context;
  // Aborted when the caller disconnects or the call's time is over, whichever comes first.
  const attemptAbort = new LightAbortController();
  const abort = () => attemptAbort.abort();
  caller.signal.addEventListener("abort", abort, { once: true });
  const cancelTimer = ports.timers.after(call.timeoutMs, abort);
  try {
    const deadlineMs = Math.min(context.deadlineMs, ports.clock.monotonic() + call.timeoutMs);
    const plan = planSingleCall(call, context, settlement, deadlineMs);
    const execution = await execute(plan, ports, attemptAbort.signal, { committed: false });
    recorder.attempts.push(...execution.attempts);
    if (execution.kind !== "answered") return undefined;
    const { attempt, answer, report, firstTokenMs } = execution;
    const other = otherModel(attempt.model.upstreamId, answer.model);
    settlement.settleAnswer(attempt, { report, firstTokenMs, empty: false, otherModel: other }, context, ports);
    return answer;
  } finally {
    cancelTimer();
    caller.signal.removeEventListener("abort", abort);
  }
}

function planSingleCall(
  call: ScoutCall,
  context: RequestContext,
  closer: AttemptCloser,
  deadlineMs: number,
): ExecutionPlan {
  const { assessment, configuration, recorder, request } = context;
  const { model } = call;
  const size: RequestSize = {
    inputTokensBound: inputBoundOf(call.body),
    inputTokensEstimate: 0,
    requestedOutputTokens: call.maxOutputTokens,
    choices: 1,
  };
  const body = withPriceLimit(call.body, undefined, priceLimitOf(model, size, configuration));
  return {
    decisionId: recorder.decisionId,
    goal: assessment.task.goal_id,
    stream: false,
    trace: request.trace,
    purpose: "SCOUT",
    candidate: (index) => (index === 0 ? model : undefined),
    bodyFor: () => body,
    bodyBytes: call.bodyBytes,
    holdFor: () => holdOf(model, size),
    priceFor: () => priceOf(model, size),
    firstAttempt: scoutAttempt,
    maxAttempts: 1,
    configuration,
    deadlineMs,
    pricedByCost: false,
    hostsNarrowed: false,
    abandonedCost: () => undefined,
    closer,
  };
}
