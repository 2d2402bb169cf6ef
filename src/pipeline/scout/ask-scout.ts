import { otherModel } from "#domain/model-names.ts";
import { inputBoundOf } from "#domain/money/input-bound.ts";
import { holdOf, priceOf } from "#pipeline/decide/select/budget.ts";
import type { RoutedDecision } from "#pipeline/decide-with-spend.ts";
import { priceLimitOf, withPriceLimit } from "#pipeline/execute/call/price-limit.ts";
import { execute } from "#pipeline/execute/execute.ts";
import type { RequestContext } from "#pipeline/handle-chat.ts";
import type { Ports } from "#pipeline/ports.ts";
import { closeAnswered } from "#pipeline/settle/close-attempt.ts";
import { LightAbortController } from "#platform/abort.ts";
import { type ScoutVerdict, scoutBody, verdictIn } from "./scout-prompt.ts";

/** Scout attempts are numbered apart from those of the answer, so that both stand under one decision in the books. */
const scoutAttempt = 1;
export const firstAnswerAttempt = 2;

/**
 * Asks the scout which tier fits, within its few seconds. A scout that fails, is silent or talks nonsense costs nothing but
 * the wait: the verdict is `none`.
 */
export async function askScout(context: RequestContext, routed: RoutedDecision, ports: Ports): Promise<ScoutVerdict> {
  const { assessment, configuration, recorder, caller } = context;
  const rules = configuration.policy.scout;
  const model = configuration.registry.models.get(routed.decision.model ?? "");
  if (model === undefined) return "none";
  const question = scoutBody(assessment.task.instruction, model, rules);
  const size = {
    inputTokensBound: inputBoundOf(question),
    inputTokensEstimate: 0,
    requestedOutputTokens: rules.max_output_tokens,
    choices: 1,
  };
  const body = withPriceLimit(question, undefined, priceLimitOf(model, size, configuration));
  // The scout's own end: the caller's leaving or the scout's time, whichever comes first.
  const scout = new LightAbortController();
  const onLeave = () => scout.abort();
  caller.signal.addEventListener("abort", onLeave, { once: true });
  const cancelTimer = ports.timers.after(rules.timeout_ms, onLeave);
  try {
    const execution = await execute(
      {
        decisionId: recorder.decisionId,
        goal: assessment.task.goal_id,
        stream: false,
        purpose: "SCOUT",
        candidate: (place) => (place === 0 ? model : undefined),
        bodyFor: () => body,
        bodyBytes: rules.max_prompt_bytes,
        holdFor: () => holdOf(model, size),
        priceFor: () => priceOf(model, size),
        firstAttempt: scoutAttempt,
        maxAttempts: 1,
        configuration,
        deadlineMs: Math.min(context.deadlineMs, ports.clock.monotonic() + rules.timeout_ms),
        pricedByCost: false,
        abandonedCost: () => undefined,
      },
      ports,
      scout.signal,
      { committed: false },
    );
    recorder.attempts.push(...execution.attempts);
    if (execution.kind !== "answered") return "none";
    const { attempt, report, firstTokenMs } = execution;
    const other = otherModel(attempt.model.upstreamId, execution.answer.model);
    const answered = { report, firstTokenMs, empty: false, otherModel: other };
    const closed = closeAnswered(attempt, answered, ports.clock.monotonic());
    recorder.attempts.push(closed.record);
    void ports.ledger.resolve([closed.resolution]);
    return verdictIn(execution.answer);
  } finally {
    cancelTimer();
    caller.signal.removeEventListener("abort", onLeave);
  }
}
