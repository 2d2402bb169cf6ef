import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { Price, PriceBand, Rates, UtcWindow } from "#domain/model.ts";
import { type NanoUsd, type NanoUsdPerMTok, parseUsd } from "#domain/money/money.ts";

/** One model in an aggregator's list. */
export interface Listing {
  /** The top host's price; undefined where it cannot be read as one. */
  readonly price: Price | undefined;
  /** The permanent id of the model that the id refers to now. When it changes, the id refers to another model. */
  readonly canonical?: string;
  /** When the model may be removed, in milliseconds since the epoch. */
  readonly expiresMs?: number;
  readonly contextTokens?: number;
  readonly maxOutputTokens?: number;
}

/**
 * The wanted models in an aggregator's list. Prices are `data[].pricing`, US dollars per token as decimal text. A price is
 * undefined when one of its figures is invalid, and when the list says that a model is free which `free` does not allow. Models
 * that the list does not name are left out. Never throws, whatever the list is.
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
    const { canonical_slug: canonical, expiration_date, context_length, top_provider } = entry;
    const expiresMs = typeof expiration_date === "string" ? Date.parse(expiration_date) : Number.NaN;
    const contextTokens = tokenCountIn(context_length);
    const maxOutputTokens = isObject(top_provider) ? tokenCountIn(top_provider["max_completion_tokens"]) : undefined;
    listings.set(id, {
      price: priceIn(entry["pricing"], model.free),
      ...(typeof canonical === "string" && canonical !== "" ? { canonical: canonical.slice(0, 200) } : {}),
      ...(Number.isNaN(expiresMs) ? {} : { expiresMs }),
      ...(contextTokens === undefined ? {} : { contextTokens }),
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    });
  }
  return listings;
}

export function tokenCountIn(value: Json | undefined): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
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
  const input = perToken(pricing["prompt"]);
  const cachedInput = perToken(pricing["input_cache_read"]);
  const cacheWrite = higherOf(perToken(pricing["input_cache_write"]), perToken(pricing["input_cache_write_1h"]));
  // Reasoning tokens with a price of their own are still output, and their number is unknown before the call.
  const output = higherOf(perToken(pricing["completion"]), perToken(pricing["internal_reasoning"]));
  const request = usd(pricing["request"]);
  if ([input, cachedInput, cacheWrite, output, request].includes("invalid")) return undefined;
  const rates = { input, cachedInput, cacheWrite, output, request };
  const named = Object.entries(rates).filter(([, value]) => value !== undefined);
  return Object.fromEntries(named) as Partial<Rates>; // each was made for its name, and none is invalid
}

type Figure<N> = N | "invalid" | undefined;

function higherOf(a: Figure<NanoUsdPerMTok>, b: Figure<NanoUsdPerMTok>): Figure<NanoUsdPerMTok> {
  if (a === "invalid" || b === "invalid") return "invalid";
  return a === undefined || (b !== undefined && b > a) ? b : a;
}

/** The maximum of a price in a registry file, in nano-USD per million tokens. */
const maxPerMTok = 100_000 * 1e9;
const maxPerRequest = 1_000 * 1e9;

const decimal = /^(\+?\d*(?:\.\d*)?)(?:[eE]([+-]?\d{1,3}))?$/;

/** US dollars per token to nano-USD per million tokens, digit by digit: only the exponent changes, by six. */
function perToken(value: Json | undefined): Figure<NanoUsdPerMTok> {
  if (value === undefined || value === null) return undefined;
  const match = decimal.exec(textOf(value));
  if (match === null) return "invalid";
  const nano = parseUsd(`${match[1]}e${Number(match[2] ?? 0) + 6}`, "up");
  if (nano === undefined || nano > maxPerMTok) return "invalid";
  return Number(nano) as NanoUsdPerMTok; // the same unit, per million tokens
}

function usd(value: Json | undefined): Figure<NanoUsd> {
  if (value === undefined || value === null) return undefined;
  const nano = parseUsd(textOf(value), "up");
  return nano === undefined || nano > maxPerRequest ? "invalid" : nano;
}

function textOf(value: Json): string {
  return typeof value === "string" ? value.trim().slice(0, 64) : typeof value === "number" ? String(value) : "no price";
}

const conditions = ["min_prompt_tokens", "utc_start", "utc_end"];
const otherPrices = [
  "audio",
  "audio_output",
  "image",
  "image_output",
  "image_token",
  "input_audio_cache",
  "web_search",
];
const ownPrices = ["prompt", "completion", "request", "internal_reasoning", "discount"];
const cachePrices = ["input_cache_read", "input_cache_write", "input_cache_write_1h"];
const knownKeys: ReadonlySet<string> = new Set([...conditions, ...ownPrices, ...cachePrices, ...otherPrices]);

/** When an override applies; undefined when that cannot be read, or holds a condition that is not known here. */
function conditionIn(override: JsonObject): Pick<PriceBand, "fromInputTokens" | "window"> | undefined {
  if (Object.keys(override).some((key) => !knownKeys.has(key))) return undefined;
  const { min_prompt_tokens: from, utc_start, utc_end } = override;
  if (from == null && utc_start == null && utc_end == null) return undefined;
  // It applies above the threshold, not at it.
  const tokens = from == null ? undefined : Number(from) + 1;
  if (tokens !== undefined && !(Number.isSafeInteger(tokens) && tokens >= 1)) return undefined;
  const window = utc_start == null && utc_end == null ? undefined : windowIn(utc_start, utc_end);
  if (window === "unknown") return undefined;
  return {
    ...(tokens === undefined ? {} : { fromInputTokens: tokens }),
    ...(window === undefined ? {} : { window }),
  };
}

function windowIn(start: Json | undefined, end: Json | undefined): UtcWindow | "unknown" {
  const fromMinute = minuteIn(start);
  const toMinute = minuteIn(end);
  return fromMinute === undefined || toMinute === undefined ? "unknown" : { fromMinute, toMinute };
}

/**
 * A clock number (1630 is 16:30), or `16:30`, `16:30:00` (with or without `Z`), as minutes since midnight; midnight at the
 * end of the day is 0.
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
