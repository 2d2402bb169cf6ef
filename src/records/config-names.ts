import type { Policy } from "#config/policy.ts";
import type { LearnedWeights } from "#domain/learned-weights.ts";
import type { ModelRegistry } from "#domain/model.ts";
import type { StoredConfig } from "./records.ts";

/** Names the configurations that decisions are made by, once each, and passes each new one on to be stored. */
export class ConfigNames {
  readonly #keep: (config: StoredConfig) => void;
  readonly #now: () => number;
  #parts: readonly unknown[] = [];
  #hash = "";

  constructor(keep: (config: StoredConfig) => void, now: () => number) {
    this.#keep = keep;
    this.#now = now;
  }

  nameOf(policy: Policy, registry: ModelRegistry, learned?: LearnedWeights): string {
    const parts = [policy, registry, learned];
    if (parts.every((part, at) => part === this.#parts[at])) return this.#hash;
    // Privacy rules are left out: they do not decide the model, and they may describe an operator's secrets.
    const { privacy: _, $schema: __, ...kept } = policy;
    const models = [...registry.models.values()];
    const price_version = registry.priceVersion ?? null;
    const config = JSON.stringify({ policy: kept, models, price_version, learned: learned ?? null });
    const hash = new Bun.CryptoHasher("sha256").update(config).digest("hex").slice(0, 16);
    if (hash !== this.#hash) this.#keep({ hash, atMs: this.#now(), config });
    [this.#parts, this.#hash] = [parts, hash];
    return hash;
  }
}
