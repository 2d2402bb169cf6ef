import { capsOf, Policy } from "#config/policy.ts";
import { LearnedWeights } from "#domain/learned-weights.ts";
import { type Model, type ModelRegistry, type Role, roles } from "#domain/model.ts";
import type { Caps } from "#domain/money/caps.ts";

/** What decisions are made by. */
export interface DecisionConfiguration {
  readonly policy: Policy;
  readonly registry: ModelRegistry;
  readonly caps: Caps;
  readonly learned?: LearnedWeights | undefined;
}

/** A configuration as it was kept with the records; undefined when this release cannot read it any more. */
export function readConfiguration(json: string): DecisionConfiguration | undefined {
  try {
    const { policy: written, models, learned } = JSON.parse(json);
    const policy = Policy.parse({ ...written, privacy: {} });
    const weights = learned == null ? undefined : LearnedWeights.parse(learned);
    return { policy, registry: registryOf(models), caps: capsOf(policy), learned: weights };
  } catch {
    return undefined;
  }
}

/** The models in the order of their registry. This program wrote them from a valid registry, so they are not checked. */
function registryOf(models: readonly Model[]): ModelRegistry {
  const byRole: { [R in Role]?: Model } = {};
  for (const role of roles) {
    const first = models.find((model) => model.role === role && model.enabled);
    if (first !== undefined) byRole[role] = first;
  }
  return { models: new Map(models.map((model) => [model.key, model])), byRole };
}
