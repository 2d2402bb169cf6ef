import type { JsonObject } from "#domain/chat.ts";
import type { Model, PriceBand, Rates } from "#domain/model.ts";
import { formatUsd } from "#domain/money/money.ts";
import type { Generation } from "./simulated-exchange.ts";

/** The aggregator's other endpoints: its lists, the bill of a call, and the spending of a key. */

/** A host of the simulator's models: it charges the registry's prices, multiplied. */
export interface SimulatedHost {
  readonly name: string;
  readonly priceFactor: number;
}

export const simulatedHosts: readonly SimulatedHost[] = [
  { name: "Simulated", priceFactor: 1 },
  { name: "Simulated Reserve", priceFactor: 1.5 },
];

/** `GET /generation?id=` as the aggregator answers it, in part: what a call was billed. */
export function generationOf(id: string, { record, hostCost }: Generation): JsonObject {
  const usd = (nano: number) => nano / 1e9;
  return {
    data: {
      id,
      model: String(record.body?.["model"] ?? ""),
      total_cost: usd(record.billedNanoUsd - (hostCost ?? 0)),
      upstream_inference_cost: hostCost === undefined ? null : usd(hostCost),
      is_byok: hostCost !== undefined,
      cancelled: record.outcome === "caller_gone",
      created_at: new Date(record.receivedAtMs).toISOString(),
      streamed: record.body?.["stream"] === true,
    },
  };
}

/** `GET /models` as the aggregator lists them, prices in USD per token as decimal text. */
export function listOf(models: Iterable<Model>): JsonObject {
  return {
    data: [...models].map((model) => ({
      id: model.upstreamId,
      canonical_slug: `${model.upstreamId}-simulated`,
      name: `Simulated ${model.upstreamId}`,
      created: 1_700_000_000,
      context_length: model.contextTokens,
      architecture: { modality: "text->text", input_modalities: ["text"], output_modalities: ["text"] },
      pricing: wholePricingOf(model, 1),
      top_provider: { context_length: model.contextTokens, max_completion_tokens: model.maxOutputTokens },
      supported_parameters: parameters,
      expiration_date: null,
    })),
  };
}

const parameters = ["max_tokens", "response_format", "stop", "temperature", "tool_choice", "tools", "top_p"];

/** `GET /models/{author}/{slug}/endpoints`: who serves a model, at what price. */
export function hostsOf(model: Model, hosts: readonly SimulatedHost[]): JsonObject {
  return {
    data: {
      id: model.upstreamId,
      name: `Simulated ${model.upstreamId}`,
      created: 1_700_000_000,
      description: "",
      architecture: { modality: "text->text", input_modalities: ["text"], output_modalities: ["text"] },
      endpoints: hosts.map(({ name, priceFactor }) => ({
        name: `${name} | ${model.upstreamId}`,
        model_id: `${model.upstreamId}-simulated`,
        model_name: `Simulated ${model.upstreamId}`,
        context_length: model.contextTokens,
        pricing: wholePricingOf(model, priceFactor),
        provider_name: name,
        tag: name.toLowerCase().replaceAll(" ", "-"),
        quantization: null,
        max_completion_tokens: model.maxOutputTokens,
        max_prompt_tokens: null,
        supported_parameters: parameters,
        status: 0,
        uptime_last_30m: 99.9,
        supports_implicit_caching: true,
      })),
    },
  };
}

/** `GET /key`: what was spent with the key; amounts in nano-USD. */
export function keyOf(spent: { readonly day: number; readonly ownAccountsDay: number }): JsonObject {
  const [credits, own] = [(spent.day - spent.ownAccountsDay) / 1e9, spent.ownAccountsDay / 1e9];
  return {
    data: {
      label: "sk-or-v1-sim...key",
      limit: null,
      limit_remaining: null,
      limit_reset: null,
      include_byok_in_limit: false,
      is_free_tier: false,
      is_management_key: false,
      usage: credits,
      usage_daily: credits,
      usage_weekly: credits,
      usage_monthly: credits,
      byok_usage: own,
      byok_usage_daily: own,
      byok_usage_weekly: own,
      byok_usage_monthly: own,
      expires_at: null,
    },
  };
}

function wholePricingOf({ price }: Model, factor: number): JsonObject {
  const { bands } = price;
  const overrides = bands?.map((band) => overrideOf({ ...band, rates: multiplied(band.rates, factor) }));
  return { ...pricingOf(multiplied(price, factor)), ...(overrides === undefined ? {} : { overrides }) };
}

function multiplied(rates: Partial<Rates>, factor: number): Partial<Rates> {
  if (factor === 1) return rates;
  const { input, cachedInput, cacheWrite, output, request } = rates;
  const named = Object.entries({ input, cachedInput, cacheWrite, output, request });
  const products = named.flatMap(([name, rate]) => (rate === undefined ? [] : [[name, Math.round(rate * factor)]]));
  return Object.fromEntries(products);
}

function pricingOf({ input, cachedInput, cacheWrite, output, request }: Partial<Rates>): JsonObject {
  const perToken = (price: number) => (price === 0 ? "0" : (price / 1e15).toFixed(15).replace(/0+$/, ""));
  return {
    ...(input === undefined ? {} : { prompt: perToken(input) }),
    ...(output === undefined ? {} : { completion: perToken(output) }),
    ...(cachedInput === undefined ? {} : { input_cache_read: perToken(cachedInput) }),
    ...(cacheWrite === undefined ? {} : { input_cache_write: perToken(cacheWrite) }),
    ...(request === undefined ? {} : { request: formatUsd(request) }),
  };
}

/** A band as a conditional override of the base pricing. */
function overrideOf({ fromInputTokens, window, rates }: PriceBand): JsonObject {
  return {
    // It applies above the threshold, not at it.
    ...(fromInputTokens === undefined ? {} : { min_prompt_tokens: Math.max(0, fromInputTokens - 1) }),
    ...(window === undefined ? {} : { utc_start: clockOf(window.fromMinute), utc_end: clockOf(window.toMinute) }),
    ...pricingOf(rates),
  };
}

/** A time of day as a clock number: 1630 is 16:30. */
function clockOf(minute: number): number {
  return Math.floor(minute / 60) * 100 + (minute % 60);
}
