import { Policy } from "#config/policy.ts";
import { LearnedWeights } from "#domain/learned-weights.ts";
import { type ModelRegistry, modelRegistry } from "#domain/model.ts";
import type { StoredConfig } from "#records/records.ts";

/** What decisions are made by. */
export interface DecisionConfiguration {
  readonly policy: Policy;
  readonly registry: ModelRegistry;
  readonly learned?: LearnedWeights | undefined;
}

/** Names the configurations that decisions are made by, once each, and passes each new one on to be kept. */
export function configurationNames(keep: (config: StoredConfig) => void, now: () => number) {
  let named: readonly unknown[] = [];
  let hash = "";
  return (policy: Policy, registry: ModelRegistry, learned?: LearnedWeights): string => {
    const parts = [policy, registry, learned];
    if (parts.every((part, at) => part === named[at])) return hash;
    // Privacy rules are left out: they do not decide the model, and they may describe an operator's secrets.
    const { privacy: _, $schema: __, ...kept } = policy;
    const models = [...registry.models.values()];
    const price_version = registry.priceVersion ?? null;
    const config = JSON.stringify({ policy: kept, models, price_version, learned: learned ?? null });
    const before = hash;
    [named, hash] = [parts, new Bun.CryptoHasher("sha256").update(config).digest("hex").slice(0, 16)];
    if (hash !== before) keep({ hash, atMs: now(), config });
    return hash;
  };
}

/** A configuration as it was kept with the records; undefined when there is none, or this release cannot read it any more. */
export function readConfiguration(json: string | undefined): DecisionConfiguration | undefined {
  try {
    const { policy: written, models, learned } = JSON.parse(json ?? "");
    const policy = Policy.parse({ ...written, privacy: {} });
    // This program wrote the models from a valid registry, so they are not checked.
    const weights = learned == null ? undefined : LearnedWeights.parse(learned);
    return { policy, registry: modelRegistry(models), learned: weights };
  } catch {
    return undefined;
  }
}
