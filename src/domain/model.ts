import type { NanoUsd, NanoUsdPerMTok } from "./money/money.ts";

/** What a model is for: scout (free tier), worker (flash tier), senior (pro tier), emergency fallback. */
export const roles = ["scout", "worker", "senior", "emergency"] as const;
export type Role = (typeof roles)[number];

/** The tier that callers know a role's models by. */
export const tierOfRole = {
  scout: "free",
  worker: "flash",
  senior: "pro",
  emergency: "emergency",
} as const satisfies Readonly<Record<Role, string>>;

/** The internal key of a model, a key of the registry's `models` map: `vendor_v4_flash`. */
export type ModelKey = string;

/** What a million tokens cost, and what each call costs beside them. */
export interface Rates {
  readonly input: NanoUsdPerMTok;
  /** Input tokens that the upstream read from its prompt cache. */
  readonly cachedInput: NanoUsdPerMTok;
  /** Input tokens that the upstream wrote to its prompt cache; absent: unknown, or not charged apart. */
  readonly cacheWrite?: NanoUsdPerMTok;
  readonly output: NanoUsdPerMTok;
  /** Per call; absent: nothing. */
  readonly request?: NanoUsd;
}

/** The prices of a model: its base rates, and the bands in which other rates apply. */
export interface Price extends Rates {
  /** Rising by `fromInputTokens`. */
  readonly bands?: readonly PriceBand[];
}

/** Rates that replace those of the base while all of the band's conditions hold; those it does not name stay. */
export interface PriceBand {
  /** From so many prompt tokens on; absent: any prompt. */
  readonly fromInputTokens?: number;
  /** Absent: at any time. */
  readonly window?: UtcWindow;
  readonly rates: Partial<Rates>;
}

/** A part of each UTC day, in minutes since midnight, without `to`. `to` ≤ `from` crosses midnight; equal is all day. */
export interface UtcWindow {
  readonly fromMinute: number;
  readonly toMinute: number;
}

/**
 * Where a model's price comes from. `shipped`: part of the program, and as old as it; nobody has confirmed it.
 * `registry_file`: the operator's own file states it. `price_book`: the aggregator's list said so at `atMs`.
 */
export type PriceSource =
  | { readonly kind: "shipped" }
  | { readonly kind: "registry_file" }
  | { readonly kind: "price_book"; readonly atMs: number };

/**
 * What a model takes as `reasoning_content` of assistant messages that come back to it: it insists on some, or refuses
 * any. `auto`: it insists where the upstream is known for that.
 */
export type ToolTurnReasoning = "auto" | "required" | "refused";

/** One record of the model registry, parsed; durations in milliseconds, sizes in tokens. */
export interface Model {
  readonly key: ModelKey;
  readonly role: Role;
  /** The id the aggregator knows it by; what callers see as `model` in answers. */
  readonly upstreamId: string;
  readonly price: Price;
  /** Absent: as `shipped`. */
  readonly priceSource?: PriceSource;
  /** The part of the price that the operator's own file states: it takes precedence over the price book. */
  readonly statedPrice?: Partial<Price>;
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  /** The output bound sent upstream (and reserved) when the caller sets none. */
  readonly defaultOutputTokens: number;
  readonly free: boolean;
  readonly enabled: boolean;
  /** Thinks before its first visible token: allowed a longer wait for the first event. */
  readonly reasoning: boolean;
  /** Absent: messages go out as they were received. */
  readonly toolTurnReasoning?: ToolTurnReasoning;
  /** Its host refuses requests with `stream_options`. */
  readonly refusesStreamOptions?: true;
  /** The one name of the output limit that the host takes, and refuses the other; absent: it takes both. */
  readonly outputLimit?: "max_tokens" | "max_completion_tokens";
  /** Calls at a time, of one process; absent: any number. */
  readonly maxInFlight?: number;
  /** Overrides of the policy's upstream timeouts for this model, in milliseconds. */
  readonly timeoutsMs: { readonly [name in TimeoutName]?: number };
}

export type TimeoutName = "connect" | "headers" | "first_event" | "idle" | "total";

/** The registry as everybody reads it: by key, and the one model of each role that routing chooses. */
export interface ModelRegistry {
  readonly models: ReadonlyMap<ModelKey, Model>;
  /** The enabled model of a role that comes first in the file; undefined when there is none. */
  readonly byRole: { readonly [R in Role]?: Model };
  /** Names the prices of all models together; absent before they are settled. */
  readonly priceVersion?: string;
}

/** The registry of these models, in their order. */
export function modelRegistry(models: Iterable<Model>): ModelRegistry {
  const byKey = new Map([...models].map((model) => [model.key, model]));
  const byRole: { [R in Role]?: Model } = {};
  for (const model of byKey.values()) if (model.enabled) byRole[model.role] ??= model;
  return { models: byKey, byRole };
}
