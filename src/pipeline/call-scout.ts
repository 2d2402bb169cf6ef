import type { JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import { otherModel } from "#domain/model-names.ts";
import { inputBoundOf } from "#domain/money/input-bound.ts";
import type { RequestSize } from "#pipeline/assess/request-size.ts";
import { LightAbortController } from "#platform/abort.ts";
import { holdOf, priceOf } from "./decide/select/budget.ts";
import { priceLimitOf, withPriceLimit } from "./execute/call/price-limit.ts";
import { execute } from "./execute/execute.ts";
import { type ExecutionPlan, scoutAttempt } from "./execute/plan.ts";
import type { Ports } from "./ports.ts";
import type { RequestContext } from "./request-context.ts";
import { settlement } from "./settle/settlement.ts";

/** One attempt at the scout's question within `scout.timeout_ms`, settled; undefined when it brought no answer. */
export async function callScout(
  model: Model,
  question: JsonObject,
  context: RequestContext,
  ports: Ports,
): Promise<JsonObject | undefined> {
  const { recorder, caller, configuration } = context;
  // Aborted when the caller disconnects or the scout's time is over, whichever comes first.
  const scout = new LightAbortController();
  const abort = () => scout.abort();
  caller.signal.addEventListener("abort", abort, { once: true });
  const { timeout_ms } = configuration.policy.scout;
  const cancelTimer = ports.timers.after(timeout_ms, abort);
  try {
    const deadlineMs = Math.min(context.deadlineMs, ports.clock.monotonic() + timeout_ms);
    const plan = planScout(model, question, context, deadlineMs);
    const execution = await execute(plan, ports, scout.signal, { committed: false });
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

function planScout(model: Model, question: JsonObject, context: RequestContext, deadlineMs: number): ExecutionPlan {
  const { assessment, configuration, recorder, request } = context;
  const { max_prompt_bytes, max_output_tokens } = configuration.policy.scout;
  const size: RequestSize = {
    inputTokensBound: inputBoundOf(question),
    inputTokensEstimate: 0,
    requestedOutputTokens: max_output_tokens,
    choices: 1,
  };
  const body = withPriceLimit(question, undefined, priceLimitOf(model, size, configuration));
  return {
    decisionId: recorder.decisionId,
    goal: assessment.task.goal_id,
    stream: false,
    trace: request.trace,
    purpose: "SCOUT",
    candidate: (index) => (index === 0 ? model : undefined),
    bodyFor: () => body,
    bodyBytes: max_prompt_bytes,
    holdFor: () => holdOf(model, size),
    priceFor: () => priceOf(model, size),
    firstAttempt: scoutAttempt,
    maxAttempts: 1,
    configuration,
    deadlineMs,
    pricedByCost: false,
    hostsNarrowed: false,
    abandonedCost: () => undefined,
    closer: settlement,
  };
}
