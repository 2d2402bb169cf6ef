import type { Policy } from "#config/policy.ts";
import type { LearnedWeights } from "#domain/learned-weights.ts";
import type { ModelRegistry } from "#domain/model.ts";
import type { StoredConfig } from "./records.ts";

/** Names the configurations that decisions are made by, and passes each new one on to be stored. */
export class ConfigNames {
  readonly #keep: (config: StoredConfig) => void;
  readonly #now: () => number;
  #last:
    | {
        readonly policy: Policy;
        readonly registry: ModelRegistry;
        readonly learned?: LearnedWeights | undefined;
        readonly hash: string;
      }
    | undefined;

  constructor(keep: (config: StoredConfig) => void, now: () => number) {
    this.#keep = keep;
    this.#now = now;
  }

  /** The name is computed once per configuration. */
  nameOf(policy: Policy, registry: ModelRegistry, learned?: LearnedWeights): string {
    const last = this.#last;
    if (last?.policy === policy && last.registry === registry && last.learned === learned) return last.hash;
    const config = JSON.stringify(storedForm(policy, registry, learned));
    const hash = new Bun.CryptoHasher("sha256").update(config).digest("hex").slice(0, 16);
    if (hash !== this.#last?.hash) this.#keep({ hash, atMs: this.#now(), config });
    this.#last = { policy, registry, learned, hash };
    return hash;
  }
}

/** Privacy rules are left out: they do not decide the model, and they may describe an operator's secrets. */
function storedForm(
  { privacy: _, $schema: __, ...policy }: Policy,
  registry: ModelRegistry,
  learned: LearnedWeights | undefined,
): unknown {
  const models = [...registry.models.values()];
  return { policy, models, price_version: registry.priceVersion ?? null, learned: learned ?? null };
}
