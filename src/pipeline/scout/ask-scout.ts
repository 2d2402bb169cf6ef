import type { JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import type { RequestContext, RoutedDecision } from "#pipeline/request-context.ts";
import { type ScoutVerdict, scoutBody, verdictIn } from "./scout-prompt.ts";

/** The scout's question and the limits of its call. `timeoutMs`: milliseconds; `bodyBytes`: at most so many. */
export interface ScoutCall {
  readonly model: Model;
  readonly body: JsonObject;
  readonly bodyBytes: number;
  readonly maxOutputTokens: number;
  readonly timeoutMs: number;
}

/** Executes and settles a call: its answer, or undefined when there is none in time. Handed in, because those steps come later. */
export type ExecuteCall = (call: ScoutCall) => Promise<JsonObject | undefined>;

/**
 * Asks the scout which tier fits, within `scout.timeout_ms`. A scout that fails, is silent or gives no usable answer costs
 * only the time: the verdict is `none`.
 */
export async function askScout(
  context: RequestContext,
  routed: RoutedDecision,
  executeCall: ExecuteCall,
): Promise<ScoutVerdict> {
  const { assessment, configuration } = context;
  const { scout } = configuration.policy;
  const model = configuration.registry.models.get(routed.decision.model ?? "");
  if (model === undefined) return "none";
  const answer = await executeCall({
    model,
    body: scoutBody(assessment.task.instruction, model, scout),
    bodyBytes: scout.max_prompt_bytes,
    maxOutputTokens: scout.max_output_tokens,
    timeoutMs: scout.timeout_ms,
  });
  return answer === undefined ? "none" : verdictIn(answer);
}
