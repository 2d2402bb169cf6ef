import type { JsonObject } from "#domain/chat.ts";
import type { Model, PriceBand, Rates } from "#domain/model.ts";
import { formatUsd } from "#domain/money/money.ts";
import { fails, replies } from "#simulator/behaviours.ts";
import type { Generation } from "#simulator/simulated-exchange.ts";
import { isAuthorized, type SimulatorOptions } from "#simulator/simulator.ts";

/**
 * The aggregator's other endpoints: its lists, the bill of a call, and the spending of a key. `hosts` serve each model
 * and are asked for again for each request. Undefined where it has no page of that name.
 */
export function aggregatorPages(
  hosts?: (model: Model) => readonly SimulatedHost[],
): NonNullable<SimulatorOptions["pages"]> {
  return (request, account, options) => {
    const url = new URL(request.path, "http://simulated");
    if (url.pathname.endsWith("/models")) return replies(200, modelList(options.models()));
    const modelId = /\/models\/(.+)\/endpoints$/.exec(url.pathname)?.[1];
    if (modelId !== undefined) {
      const model = [...options.models()].find(({ upstreamId }) => upstreamId === decodeURIComponent(modelId));
      return model === undefined
        ? fails(404, `Model ${modelId} not found`)
        : replies(200, hostList(model, hosts?.(model)));
    }
    const page = /\/(?:generation|key)$/.exec(url.pathname)?.[0];
    if (page === undefined) return undefined;
    if (!isAuthorized(request, options)) return fails(401, "No auth credentials found");
    if (page === "/key") return replies(200, keyPage(account.day(options.clock.now())));
    const id = url.searchParams.get("id") ?? "";
    const generation = account.generations.get(id);
    // A call that is under way has no record yet.
    if (generation?.record.outcome === undefined) return fails(404, `Generation ${id} not found`);
    return replies(200, generationPage(id, generation));
  };
}

/** A host of the simulator's models: it charges the registry's prices, multiplied. */
export interface SimulatedHost {
  readonly name: string;
  readonly priceFactor: number;
}

const simulatedHosts: readonly SimulatedHost[] = [
  { name: "Simulated", priceFactor: 1 },
  { name: "Simulated Reserve", priceFactor: 1.5 },
];

/** `GET /generation?id=` as the aggregator answers it, in part: what a call was billed. */
function generationPage(id: string, { record, hostCost }: Generation): JsonObject {
  return {
    data: {
      id,
      model: String(record.body?.["model"] ?? ""),
      total_cost: (record.billedNanoUsd - (hostCost ?? 0)) / 1e9,
      upstream_inference_cost: hostCost === undefined ? null : hostCost / 1e9,
      is_byok: hostCost !== undefined,
      cancelled: record.outcome === "caller_gone",
      created_at: new Date(record.receivedAtMs).toISOString(),
      streamed: record.body?.["stream"] === true,
    },
  };
}

/** `GET /models` as the aggregator lists them, prices in USD per token as decimal text. */
function modelList(models: Iterable<Model>): JsonObject {
  return {
    data: [...models].map((model) => ({
      id: model.upstreamId,
      canonical_slug: `${model.upstreamId}-simulated`,
      name: `Simulated ${model.upstreamId}`,
      created: 1_700_000_000,
      context_length: model.contextTokens,
      architecture: { input_modalities: ["text"], output_modalities: ["text"] },
      pricing: pricing(model, 1),
      top_provider: { context_length: model.contextTokens, max_completion_tokens: model.maxOutputTokens },
      supported_parameters: parameters,
      expiration_date: null,
    })),
  };
}

const parameters = ["max_tokens", "response_format", "stop", "temperature", "tool_choice", "tools", "top_p"];

/** `GET /models/{author}/{slug}/endpoints`: who serves a model, at what price. */
function hostList(model: Model, hosts = simulatedHosts): JsonObject {
  return {
    data: {
      id: model.upstreamId,
      name: `Simulated ${model.upstreamId}`,
      endpoints: hosts.map(({ name, priceFactor }) => ({
        name: `${name} | ${model.upstreamId}`,
        model_id: `${model.upstreamId}-simulated`,
        context_length: model.contextTokens,
        pricing: pricing(model, priceFactor),
        provider_name: name,
        tag: name.toLowerCase().replaceAll(" ", "-"),
        max_completion_tokens: model.maxOutputTokens,
        supported_parameters: parameters,
        status: 0,
        uptime_last_30m: 99.9,
      })),
    },
  };
}

/** `GET /key`: what was spent with the key. */
function keyPage({ spent, onOwnAccounts }: { spent: number; onOwnAccounts: number }): JsonObject {
  const [usage, byok] = [(spent - onOwnAccounts) / 1e9, onOwnAccounts / 1e9];
  return {
    data: {
      label: "sk-or-v1-sim...key",
      limit: null,
      limit_remaining: null,
      include_byok_in_limit: false,
      usage,
      usage_daily: usage,
      byok_usage: byok,
      byok_usage_daily: byok,
    },
  };
}

/** Prices of a host, with the bands as conditional overrides of the base pricing. */
function pricing({ price }: Model, factor: number): JsonObject {
  if (price.bands === undefined) return ratesInUsd(price, factor);
  return { ...ratesInUsd(price, factor), overrides: price.bands.map((band) => override(band, factor)) };
}

function ratesInUsd({ input, cachedInput, cacheWrite, output, request }: Partial<Rates>, factor: number): JsonObject {
  const perToken = (price: number) =>
    price === 0 ? "0" : (Math.round(price * factor) / 1e15).toFixed(15).replace(/0+$/, "");
  return {
    ...(input === undefined ? {} : { prompt: perToken(input) }),
    ...(output === undefined ? {} : { completion: perToken(output) }),
    ...(cachedInput === undefined ? {} : { input_cache_read: perToken(cachedInput) }),
    ...(cacheWrite === undefined ? {} : { input_cache_write: perToken(cacheWrite) }),
    ...(request === undefined ? {} : { request: formatUsd(Math.round(request * factor)) }),
  };
}

function override({ fromInputTokens, window, rates }: PriceBand, factor: number): JsonObject {
  return {
    // It applies above the threshold, not at it.
    ...(fromInputTokens === undefined ? {} : { min_prompt_tokens: Math.max(0, fromInputTokens - 1) }),
    ...(window === undefined
      ? {}
      : { utc_start: clockNumber(window.fromMinute), utc_end: clockNumber(window.toMinute) }),
    ...ratesInUsd(rates, factor),
  };
}

/** A time of day as a clock number: 1630 is 16:30. */
function clockNumber(minute: number): number {
  return Math.floor(minute / 60) * 100 + (minute % 60);
}
