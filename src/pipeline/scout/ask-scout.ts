import type { JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import type { Ports } from "#pipeline/ports.ts";
import type { RequestContext, RoutedDecision } from "#pipeline/request-context.ts";
import { type ScoutVerdict, scoutBody, verdictIn } from "./scout-prompt.ts";

/**
 * Executes and settles the call with the scout's question: its answer, or undefined when there is none in time. Handed in,
 * because those steps come later.
 */
export type CallScout = (
  model: Model,
  question: JsonObject,
  context: RequestContext,
  ports: Ports,
) => Promise<JsonObject | undefined>;

/**
 * Asks the scout which tier fits, within `scout.timeout_ms`. A scout that fails, is silent or gives no usable answer costs
 * only the time: the verdict is `none`.
 */
export async function askScout(
  context: RequestContext,
  routed: RoutedDecision,
  callScout: CallScout,
  ports: Ports,
): Promise<ScoutVerdict> {
  const { assessment, configuration } = context;
  const model = configuration.registry.models.get(routed.decision.model ?? "");
  if (model === undefined) return "none";
  const question = scoutBody(assessment.task.instruction, model, configuration.policy.scout);
  const answer = await callScout(model, question, context, ports);
  return answer === undefined ? "none" : verdictIn(answer);
}
