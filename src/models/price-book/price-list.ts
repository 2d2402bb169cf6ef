import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { Price, PriceBand, Rates } from "#domain/model.ts";
import { parseUsd } from "#domain/money/money.ts";

/** One model in an aggregator's list. */
export interface Listing {
  /** The top host's price; undefined where it cannot be read as one. */
  readonly price: Price | undefined;
  /** The permanent id of the model that the id refers to now. When it changes, the id refers to another model. */
  readonly canonical?: string;
  /** When the model may be removed, in milliseconds since the epoch. */
  readonly expiresMs?: number;
}

/**
 * The wanted models in an aggregator's list. Prices are `data[].pricing`, US dollars per token as decimal text. A price
 * is undefined when one of its figures is invalid, and when the list says that a model is free which `free` does not
 * allow. Models that the list does not name are left out. Never throws, whatever the list is.
 */
export function listingsIn(
  list: Json,
  wanted: ReadonlyMap<string, { readonly free: boolean }>,
): ReadonlyMap<string, Listing> {
  const listings = new Map<string, Listing>();
  const data = isObject(list) ? list["data"] : undefined;
  if (!Array.isArray(data)) return listings;
  for (const entry of data) {
    const id = isObject(entry) ? entry["id"] : undefined;
    const model = typeof id === "string" ? wanted.get(id) : undefined;
    if (model === undefined || typeof id !== "string" || !isObject(entry)) continue;
    const { canonical_slug: canonical, expiration_date } = entry;
    const expiresMs = typeof expiration_date === "string" ? Date.parse(expiration_date) : Number.NaN;
    listings.set(id, {
      price: priceIn(entry["pricing"], model.free),
      ...(typeof canonical === "string" && canonical !== "" ? { canonical: canonical.slice(0, 200) } : {}),
      ...(Number.isNaN(expiresMs) ? {} : { expiresMs }),
    });
  }
  return listings;
}

/** The price in a `pricing` object; undefined where it is invalid. `free`: whether a price of 0 is accepted. */
export function priceIn(pricing: Json | undefined, free: boolean): Price | undefined {
  const price = isObject(pricing) ? wholePriceIn(pricing) : undefined;
  // For a paid model a price of 0 is most likely a defect of the list, and a hold of 0 would bound nothing.
  return !free && price?.input === 0 && price.output === 0 ? undefined : price;
}

function wholePriceIn(pricing: JsonObject): Price | undefined {
  const base = ratesIn(pricing);
  if (base?.input === undefined || base.output === undefined) return undefined;
  let rates: Rates = { ...base, input: base.input, output: base.output, cachedInput: base.cachedInput ?? base.input };
  const bands: PriceBand[] = [];
  const overrides = pricing["overrides"] ?? [];
  if (!Array.isArray(overrides)) return undefined;
  for (const override of overrides) {
    const named = isObject(override) ? ratesIn(override) : undefined;
    if (!isObject(override) || named === undefined) return undefined;
    const band = {
      ...named,
      // Where the base has no cached price of its own, cached input costs what input costs.
      ...(base.cachedInput === undefined && named.cachedInput === undefined && named.input !== undefined
        ? { cachedInput: named.input }
        : {}),
    };
    const condition = conditionIn(override);
    // A condition that is not known may hold at any time: then the higher rate of the two always counts.
    if (condition === undefined) rates = withHigherRates(rates, band);
    else bands.push({ ...condition, rates: band });
  }
  bands.sort((a, b) => (a.fromInputTokens ?? 0) - (b.fromInputTokens ?? 0));
  return { ...rates, ...(bands.length === 0 ? {} : { bands }) };
}

/** The rates that a price object names; undefined when one of them is no price. */
function ratesIn(pricing: JsonObject): Partial<Rates> | undefined {
  const figures = {
    input: perToken(pricing["prompt"]),
    cachedInput: perToken(pricing["input_cache_read"]),
    cacheWrite: highest(perToken(pricing["input_cache_write"]), perToken(pricing["input_cache_write_1h"])),
    // Reasoning tokens with a price of their own are still output, and their number is unknown before the call.
    output: highest(perToken(pricing["completion"]), perToken(pricing["internal_reasoning"])),
    request: nanoUsdIn(textOf(pricing["request"]), maxPerRequest),
  };
  const named = Object.entries(figures).filter(([, value]) => value !== undefined);
  if (named.some(([, value]) => Number.isNaN(value))) return undefined;
  return Object.fromEntries(named) as Partial<Rates>; // each was made for its name
}

/** Undefined where neither is named; NaN, an invalid figure, beats all. */
function highest(...figures: readonly (number | undefined)[]): number | undefined {
  const named = figures.filter((figure) => figure !== undefined);
  return named.length === 0 ? undefined : Math.max(...named);
}

/** The maximum of a price in a registry file, in nano-USD per million tokens. */
const maxPerMTok = 100_000 * 1e9;
const maxPerRequest = 1_000 * 1e9;

const decimal = /^(\+?\d*(?:\.\d*)?)(?:[eE]([+-]?\d{1,3}))?$/;

/** US dollars per token to nano-USD per million tokens, digit by digit: only the exponent changes, by six. */
function perToken(value: Json | undefined): number | undefined {
  const text = textOf(value);
  if (text === undefined) return undefined;
  const match = decimal.exec(text);
  return match === null ? Number.NaN : nanoUsdIn(`${match[1]}e${Number(match[2] ?? 0) + 6}`, maxPerMTok);
}

/** NaN where it is no amount; undefined where there is none. */
function nanoUsdIn(text: string | undefined, most: number): number | undefined {
  const nano = text === undefined ? undefined : (parseUsd(text, "up") ?? Number.NaN);
  return nano === undefined || nano <= most ? nano : Number.NaN;
}

function textOf(value: Json | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value.trim().slice(0, 64) : typeof value === "number" ? String(value) : "no price";
}

/** What an override may hold; other members are conditions that are not known here. */
const knownKeys: ReadonlySet<string> = new Set([
  ...["min_prompt_tokens", "utc_start", "utc_end", "prompt", "completion", "request", "internal_reasoning", "discount"],
  ...["input_cache_read", "input_cache_write", "input_cache_write_1h", "input_audio_cache", "audio", "audio_output"],
  ...["image", "image_output", "image_token", "web_search"],
]);

/** When an override applies; undefined when that cannot be read, or holds a condition that is not known here. */
function conditionIn(override: JsonObject): Pick<PriceBand, "fromInputTokens" | "window"> | undefined {
  if (Object.keys(override).some((key) => !knownKeys.has(key))) return undefined;
  const { min_prompt_tokens: from, utc_start, utc_end } = override;
  if (from == null && utc_start == null && utc_end == null) return undefined;
  // It applies above the threshold, not at it.
  const tokens = from == null ? undefined : Number(from) + 1;
  if (tokens !== undefined && !(Number.isSafeInteger(tokens) && tokens >= 1)) return undefined;
  const fromTokens = tokens === undefined ? {} : { fromInputTokens: tokens };
  if (utc_start == null && utc_end == null) return fromTokens;
  const [fromMinute, toMinute] = [minuteIn(utc_start), minuteIn(utc_end)];
  if (fromMinute === undefined || toMinute === undefined) return undefined;
  return { ...fromTokens, window: { fromMinute, toMinute } };
}

/**
 * A clock number (1630 is 16:30), or `16:30`, `16:30:00` (with or without `Z`), as minutes since midnight; midnight at
 * the end of the day is 0.
 */
function minuteIn(value: Json | undefined): number | undefined {
  const text =
    typeof value === "number" ? String(value).padStart(4, "0") : typeof value === "string" ? value.trim() : "";
  const match = /^(\d{1,2}):?(\d{2})(?::00(?:\.0+)?)?Z?$/.exec(text);
  if (match === null) return undefined;
  const minute = Number(match[1]) * 60 + Number(match[2]);
  return Number(match[2]) < 60 && minute <= 1_440 ? minute % 1_440 : undefined;
}

function withHigherRates(rates: Rates, named: Partial<Rates>): Rates {
  const pairs = Object.entries(named).map(([name, value]) => {
    const before = rates[name as keyof Rates];
    return [name, before === undefined || value > before ? value : before];
  });
  return { ...rates, ...Object.fromEntries(pairs) };
}
