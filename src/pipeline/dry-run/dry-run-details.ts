import type { ModelKey, ModelRegistry } from "#domain/model.ts";
import type { NanoUsd } from "#domain/money/money.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import type { RequestSize } from "#pipeline/assess/request-size.ts";
import { estimateOf, holdOf } from "#pipeline/decide/select/budget.ts";

/** Points that each feature has added to the score, by its name. */
export function contributionsOf({
  evidence,
}: Pick<RoutingDecision, "evidence">): readonly (readonly [string, number])[] {
  return evidence.flatMap((entry) => {
    const [key = "", value] = entry.split("=");
    return key.startsWith("points_") ? [[key.slice("points_".length), Number(value)] as const] : [];
  });
}

/** The values of one key of the evidence, in their order. */
export function evidenceOf({ evidence }: Pick<RoutingDecision, "evidence">, key: string): string[] {
  const start = `${key}=`;
  return evidence.flatMap((entry) => (entry.startsWith(start) ? [entry.slice(start.length)] : []));
}

export interface ExpectedCost {
  readonly model: ModelKey;
  readonly inputTokensEstimate: number;
  readonly estimate: NanoUsd;
  readonly hold: NanoUsd;
  readonly otherModel: ModelKey;
  readonly otherEstimate: NanoUsd;
}

/** What the chosen model is expected to cost, and its opposite of the two that a score chooses between; undefined without one. */
export function expectedCostOf(
  { model: key }: Pick<RoutingDecision, "model">,
  size: RequestSize,
  registry: ModelRegistry,
): ExpectedCost | undefined {
  const model = key === null ? undefined : registry.models.get(key);
  if (model === undefined) return undefined;
  const other = (model.role === "worker" ? registry.byRole.senior : registry.byRole.worker) ?? model;
  return {
    model: model.key,
    inputTokensEstimate: size.inputTokensEstimate,
    estimate: estimateOf(model, size),
    hold: holdOf(model, size),
    otherModel: other.key,
    otherEstimate: estimateOf(other, size),
  };
}
