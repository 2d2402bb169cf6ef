import type { LearnedWeights } from "#domain/learned-weights.ts";
import type { ModelRegistry } from "#domain/model.ts";
import type { Policy } from "#policy/schema.ts";
import type { StoredConfig } from "./store/record-store.ts";

/** Names configurations that decisions are made by, and hands each new one over to be kept. */
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

  /** Costs nothing while the configuration stays the same. */
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

/** Rules of the privacy gate decide nothing here, and may say what an operator's secrets look like. */
function storedForm(
  { privacy: _, $schema: __, ...policy }: Policy,
  registry: ModelRegistry,
  learned: LearnedWeights | undefined,
): unknown {
  const models = [...registry.models.values()];
  return { policy, models, price_version: registry.priceVersion ?? null, learned: learned ?? null };
}
