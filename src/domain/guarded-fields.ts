import { isObject, type Json } from "./chat.ts";

/**
 * Fields of a chat request with which a caller changes, at some aggregator, which model answers, on what terms, or what it
 * costs: each would pass the hold, which is made of our model and our prices. A table, so that it can be read and changed in
 * one place; what happens to a value that is not harmless is the policy's to say (`upstream.fields`).
 */
export interface GuardedField {
  /** What the field can do; the policy's reference shows it. */
  readonly about: string;
  readonly harmless: Harmless;
}

/** Which values change nothing. `null` counts as absent, here and inside of the value. */
export type Harmless =
  | { readonly of: "value"; readonly is: (value: Json) => boolean }
  /** A list: an item that is not harmless can be left out. An empty list is harmless. */
  | { readonly of: "items"; readonly is: (item: Json) => boolean }
  /** An object: a key that is not named, or whose value is not harmless, can be left out. An empty object is harmless. */
  | { readonly of: "keys"; readonly are: { readonly [key: string]: (value: Json) => boolean } };

const anything = () => true;
const nothing = () => false;
const oneOf =
  (...words: readonly Json[]) =>
  (value: Json) =>
    words.includes(value);
const never: Harmless = { of: "value", is: nothing };
const noItems: Harmless = { of: "items", is: nothing };
const noKeys: Harmless = { of: "keys", are: {} };

/** Other names for `max_tokens`, which some servers let win over it; the hold takes the largest of them all. */
export const otherOutputLimits = ["max_output_tokens", "max_new_tokens", "n_predict", "num_predict"] as const;
const outputLimit: Harmless = { of: "value", is: (value) => Number.isSafeInteger(value) && Number(value) > 0 };

/** Plugins that cost nothing and call no model: repair of JSON, and leaving out the middle of a long prompt. */
const freePlugins: ReadonlySet<Json | undefined> = new Set(["response-healing", "context-compression"]);

/** What `tool_choice` may name as its `type` without naming a tool that the aggregator runs itself. */
const toolChoices: ReadonlySet<Json | undefined> = new Set([
  "function",
  "allowed_tools",
  "custom",
  "tool",
  "auto",
  "any",
  "none",
  "required",
]);

export const guardedFields: Readonly<Record<string, GuardedField>> = {
  models: { about: "further models that may answer instead", harmless: noItems },
  fallbacks: { about: "further models that may answer instead", harmless: noItems },
  route: { about: "how the aggregator chooses another model", harmless: never },
  preset: { about: "settings kept at the aggregator, model and provider among them", harmless: never },
  plugins: {
    about: "work of the aggregator's own that is billed apart, such as web search; free plugins are harmless",
    harmless: {
      of: "items",
      is: (item) => isObject(item) && (item["enabled"] === false || freePlugins.has(item["id"])),
    },
  },
  tools: {
    about: "tools that are not functions: the aggregator runs and bills them; functions are harmless",
    harmless: {
      of: "items",
      is: (item) =>
        isObject(item) && (item["type"] === "function" || (item["type"] == null && isObject(item["function"]))),
    },
  },
  tool_choice: {
    about: "the choice of a tool that the aggregator runs itself; words and functions are harmless",
    harmless: {
      of: "value",
      is: (value) => !isObject(value) || value["type"] == null || toolChoices.has(value["type"]),
    },
  },
  mcp_servers: { about: "servers whose tools the aggregator calls", harmless: noItems },
  web_search_options: { about: "web search, billed per call", harmless: never },
  web_search: { about: "web search, billed per call", harmless: { of: "value", is: oneOf(false) } },
  enable_search: { about: "web search, billed per call", harmless: { of: "value", is: oneOf(false) } },
  search_parameters: {
    about: "web search, billed per source; mode: off is harmless",
    harmless: { of: "value", is: (value) => isObject(value) && value["mode"] === "off" },
  },
  service_tier: {
    about: "priority at a higher price, or slower for less; auto and default are harmless",
    harmless: { of: "value", is: oneOf("auto", "default") },
  },
  speed: { about: "faster at a higher price; standard is harmless", harmless: { of: "value", is: oneOf("standard") } },
  inference_geo: { about: "a place to compute, at a price of its own", harmless: never },
  modalities: {
    about: "answers in images or sound, at prices of their own; text is harmless",
    harmless: { of: "items", is: oneOf("text") },
  },
  audio: { about: "answers in sound", harmless: never },
  image_config: { about: "answers in images", harmless: noKeys },
  provider: {
    about: "the provider's terms; wishes that only narrow the choice among providers are harmless",
    harmless: {
      of: "keys",
      are: {
        order: anything,
        only: anything,
        ignore: anything,
        sort: anything,
        allow_fallbacks: anything,
        require_parameters: anything,
        quantizations: anything,
        zdr: anything,
        enforce_distillable_text: anything,
        preferred_min_throughput: anything,
        preferred_max_latency: anything,
        max_price: anything,
        data_collection: oneOf("deny"),
      },
    },
  },
  providerOptions: { about: "settings of the aggregator, further models among them", harmless: noKeys },
  provider_options: { about: "settings of the aggregator, further models among them", harmless: noKeys },
  store: {
    about: "keeps the conversation at the provider; false is harmless",
    harmless: { of: "value", is: oneOf(false) },
  },
  extra_body: { about: "fields that a proxy upstream takes for fields of the request", harmless: noKeys },
  extra_headers: { about: "headers that a proxy upstream would send for the request", harmless: noKeys },
  user_config: { about: "the models and keys of a proxy upstream, replaced", harmless: never },
  custom_llm_provider: { about: "another provider to ask, at a proxy upstream", harmless: never },
  api_key: { about: "another account to ask with, at a proxy upstream", harmless: never },
  api_base: { about: "another server to ask, at a proxy upstream", harmless: never },
  base_url: { about: "another server to ask, at a proxy upstream", harmless: never },
  ...Object.fromEntries(
    otherOutputLimits.map((name) => [
      name,
      { about: "another name for max_tokens; a whole number from 1 is harmless and held for", harmless: outputLimit },
    ]),
  ),
};

/**
 * Fields that the gateway reads or sets so that a hold bounds the call. In another spelling (`MAX_TOKENS`) they would pass
 * it at upstreams that read names without regard to case. All in lower case.
 */
export const boundingFields: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "max_tokens",
  "max_completion_tokens",
  "n",
  "best_of",
  "reasoning",
  "thinking",
  "thinking_budget",
  "prediction",
  "usage",
  "stream",
  "stream_options",
]);

/** For fields that only the operator's policy names: no value of them is harmless. */
export const policyGuardedField: GuardedField = { about: "a field of the operator's own list", harmless: never };

/** Where the value is not harmless: `""` for the whole of it, `[2]` or `.key` for a part; undefined when it is harmless. */
export function harmfulPathIn({ harmless }: GuardedField, value: Json): string | undefined {
  if (value === null) return undefined;
  switch (harmless.of) {
    case "value":
      return harmless.is(value) ? undefined : "";
    case "items": {
      if (!Array.isArray(value)) return "";
      for (let index = 0; index < value.length; index++) {
        if (!harmless.is(value[index] ?? null)) return `[${index}]`;
      }
      return undefined;
    }
    case "keys": {
      if (!isObject(value)) return "";
      for (const key in value) {
        if (keyIsHarmless(harmless.are, key, value[key])) continue;
        // A key that the table does not know is the caller's text, which is not repeated.
        return Object.hasOwn(harmless.are, key) ? `.${key}` : "";
      }
      return undefined;
    }
  }
}

/** What of a value is harmless; undefined when nothing is. */
export function harmlessPart({ harmless }: GuardedField, value: Json): Json | undefined {
  if (harmless.of === "items" && Array.isArray(value)) {
    const kept = value.filter((item) => harmless.is(item));
    return kept.length === 0 ? undefined : kept;
  }
  if (harmless.of === "keys" && isObject(value)) {
    const kept = Object.entries(value).filter(([key, item]) => keyIsHarmless(harmless.are, key, item));
    return kept.length === 0 ? undefined : Object.fromEntries(kept);
  }
  return undefined;
}

function keyIsHarmless(
  are: { readonly [key: string]: (value: Json) => boolean },
  key: string,
  value: Json | undefined,
): boolean {
  if (value == null) return true;
  return Object.hasOwn(are, key) && are[key]?.(value) === true;
}

/**
 * Whether a value names a free model, or lets providers keep what they are sent: what a sensitive request must not do,
 * also where an operator lets the field through.
 */
export function namesFreeTerms(value: Json): boolean {
  if (typeof value === "string") return /:free$|^openrouter\/free\b/i.test(value.trim());
  if (Array.isArray(value)) return value.some(namesFreeTerms);
  if (!isObject(value)) return false;
  return Object.entries(value).some(
    ([key, item]) => (key === "data_collection" && item === "allow") || namesFreeTerms(item),
  );
}
