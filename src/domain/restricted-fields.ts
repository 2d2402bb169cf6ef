import { isObject, type Json } from "./chat.ts";
import { otherChoiceCounts, otherOutputLimits, settingKind, settingsFields } from "./output-limits.ts";

/**
 * Fields of a chat request with which a caller changes, at some aggregator, which model answers, on what terms, or what
 * it costs: each would pass the hold, which is made of our model and our prices. A table, so that it can be read and
 * changed in one place; what happens to a value that is not harmless is the policy's to say (`upstream.fields`).
 */
export interface RestrictedField {
  /** What the field can do; the policy's reference shows it. */
  readonly about: string;
  /** What of a value changes nothing: the value itself, a copy of a part of it, or undefined. */
  readonly harmless: (value: Json) => Json | undefined;
  /** The parts of its value that a refusal may name: items, or these keys. Others are the caller's text. */
  readonly parts?: "items" | ReadonlySet<string>;
}

type Check = (value: Json) => boolean;

const oneOf =
  (...words: readonly Json[]): Check =>
  (value) =>
    words.includes(value);
const value = (about: string, is: Check): RestrictedField => ({
  about,
  harmless: (all) => (is(all) ? all : undefined),
});
const never = (about: string) => value(about, () => false);

/** A list, of which an item that is not harmless can be left out. An empty one is harmless. */
const items = (about: string, is: Check): RestrictedField => ({
  about,
  parts: "items",
  harmless(all) {
    if (!Array.isArray(all)) return undefined;
    if (all.every(is)) return all;
    const kept = all.filter(is);
    return kept.length === 0 ? undefined : kept;
  },
});

/** An object, of which keys that are not named or not harmless can be left out. `null` counts as absent. */
const object = (about: string, are: { readonly [key: string]: Check }): RestrictedField => ({
  about,
  parts: new Set(Object.keys(are)),
  harmless(all) {
    if (!isObject(all)) return undefined;
    const isHarmless = (key: string) => all[key] == null || (Object.hasOwn(are, key) && are[key]?.(all[key]) === true);
    const keys = Object.keys(all);
    const kept = keys.filter(isHarmless);
    if (kept.length === keys.length) return all;
    return kept.length === 0 ? undefined : Object.fromEntries(kept.map((key) => [key, all[key] ?? null]));
  },
});

const anything = () => true;
const nothing = () => false;
const isLimit: Check = (limit) => Number.isSafeInteger(limit) && Number(limit) > 0;
const isCount: Check = (count) => isLimit(count) && Number(count) <= 128;
const checkOf = { otherOutputTokens: isLimit, otherChoices: isCount, none: anything };

/** The same for each of these fields. */
function each(names: readonly string[], field: RestrictedField): Record<string, RestrictedField> {
  return Object.fromEntries(names.map((name) => [name, field]));
}

/** Plugins that cost nothing and call no model: repair of JSON, and leaving out the middle of a long prompt. */
const freePlugins: ReadonlySet<Json | undefined> = new Set(["response-healing", "context-compression"]);

/** What `tool_choice` may name as its `type` without naming a tool that the aggregator runs itself. */
const toolChoices: ReadonlySet<Json | undefined> = new Set(
  "function allowed_tools custom tool auto any none required".split(" "),
);

/** Wishes that only narrow the choice among providers. */
const narrowingWishes =
  "order only ignore sort allow_fallbacks require_parameters quantizations zdr enforce_distillable_text " +
  "preferred_min_throughput preferred_max_latency max_price";

export const restrictedFields: Readonly<Record<string, RestrictedField>> = {
  models: items("further models that may answer instead", nothing),
  fallbacks: items("further models that may answer instead", nothing),
  route: never("how the aggregator chooses another model"),
  preset: never("settings kept at the aggregator, model and provider among them"),
  plugins: items(
    "work of the aggregator's own that is billed apart, such as web search; free plugins are harmless",
    (item) => isObject(item) && (item["enabled"] === false || freePlugins.has(item["id"])),
  ),
  tools: items(
    "tools that are not functions: the aggregator runs and bills them; functions are harmless",
    (item) => isObject(item) && (item["type"] === "function" || (item["type"] == null && isObject(item["function"]))),
  ),
  tool_choice: value(
    "the choice of a tool that the aggregator runs itself; words and functions are harmless",
    (choice) => !isObject(choice) || choice["type"] == null || toolChoices.has(choice["type"]),
  ),
  mcp_servers: items("servers whose tools the aggregator calls", nothing),
  web_search_options: never("web search, billed per call"),
  web_search: value("web search, billed per call", oneOf(false)),
  enable_search: value("web search, billed per call", oneOf(false)),
  search_parameters: value(
    "web search, billed per source; mode: off is harmless",
    (search) => isObject(search) && search["mode"] === "off",
  ),
  service_tier: value(
    "priority at a higher price, or slower for less; auto and default are harmless",
    oneOf("auto", "default"),
  ),
  speed: value("faster at a higher price; standard is harmless", oneOf("standard")),
  inference_geo: never("a place to compute, at a price of its own"),
  modalities: items("answers in images or sound, at prices of their own; text is harmless", oneOf("text")),
  audio: never("answers in sound"),
  image_config: object("answers in images", {}),
  provider: object("the provider's terms; wishes that only narrow the choice among providers are harmless", {
    ...Object.fromEntries(narrowingWishes.split(" ").map((name) => [name, anything])),
    data_collection: oneOf("deny"),
  }),
  providerOptions: object("settings of the aggregator, further models among them", {}),
  provider_options: object("settings of the aggregator, further models among them", {}),
  store: value("keeps the conversation at the provider; false is harmless", oneOf(false)),
  extra_body: object("fields that a proxy upstream takes for fields of the request", {}),
  extra_headers: object("headers that a proxy upstream would send for the request", {}),
  user_config: never("the models and keys of a proxy upstream, replaced"),
  custom_llm_provider: never("another provider to ask, at a proxy upstream"),
  api_key: never("another account to ask with, at a proxy upstream"),
  api_base: never("another server to ask, at a proxy upstream"),
  base_url: never("another server to ask, at a proxy upstream"),
  ...each(
    otherOutputLimits,
    value("another name for max_tokens; a whole number from 1 is harmless and held for", isLimit),
  ),
  ...each(otherChoiceCounts, value("another name for n; 1 to 128 is harmless and held for", isCount)),
  ...each(settingsFields, {
    about: "settings in which max_tokens and n may stand; harmless as by those names",
    parts: new Set([...otherOutputLimits, ...otherChoiceCounts, "n", "max_tokens", "maxTokens", "maxOutputTokens"]),
    harmless(all) {
      if (!isObject(all)) return all;
      const kept = Object.entries(all).filter(
        ([name, setting]) => setting === null || checkOf[settingKind(name) ?? "none"](setting),
      );
      if (kept.length === Object.keys(all).length) return all;
      return kept.length === 0 ? undefined : Object.fromEntries(kept);
    },
  }),
};

/**
 * Fields that the gateway reads or sets so that a hold bounds the call. In another spelling (`MAX_TOKENS`) they would
 * pass it at upstreams that read names without regard to case. All in lower case.
 */
export const boundingFields: ReadonlySet<string> = new Set(
  (
    "model messages max_tokens max_completion_tokens n best_of reasoning thinking thinking_budget prediction usage " +
    "stream stream_options"
  ).split(" "),
);

/** For fields that only the operator's policy names: no value of them is harmless. */
export const customField: RestrictedField = never("a field of the operator's own list");

/** Where a value is not harmless: `[2]` or `.key` for a part, else `""`. */
export function harmfulPath({ harmless, parts }: RestrictedField, all: Json): string {
  if (parts === undefined) return "";
  if (parts === "items") {
    return Array.isArray(all) ? `[${all.findIndex((item) => harmless([item]) === undefined)}]` : "";
  }
  const isHarmful = (key: string) => isObject(all) && harmless({ [key]: all[key] ?? null }) === undefined;
  const key = isObject(all) ? Object.keys(all).find(isHarmful) : undefined;
  return key !== undefined && parts.has(key) ? `.${key}` : "";
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
