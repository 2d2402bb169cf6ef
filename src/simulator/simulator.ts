import type { JsonObject } from "#domain/chat.ts";
import type { Model, PriceBand, Rates } from "#domain/model.ts";
import { formatUsd } from "#domain/money/money.ts";
import { ratesOf } from "#domain/money/prices.ts";
import type { Clock, Random, Timers } from "#platform/time.ts";
import { fails, replies, says } from "./behaviours.ts";
import { promptTokensOf } from "./completion.ts";
import { objectOr } from "./persona.ts";
import {
  type Behaviour,
  type Generation,
  type MutableRecord,
  type RecordedRequest,
  recordOf,
  SimulatedExchange,
} from "./simulated-exchange.ts";
import { listenOnWire, type Wire, type WireRequest } from "./wire.ts";

/**
 * An aggregator of models on loopback. Without a script it is the upstream of demo mode and answers every request as a real
 * one would, marked as simulated; with one, each request gets the scripted behaviour. In both cases it
 * records its requests and keeps a bill of its own, against which tests compare the gateway's ledger.
 */
export interface SimulatorOptions {
  /** The registry's models, read again for each request: prices, ids and roles. */
  readonly models: () => Iterable<Model>;
  readonly clock: Clock;
  readonly random: Random;
  /** With timers, answers take as long as real ones; without, no time at all. */
  readonly timers?: Timers;
  /** Default 0: any free port. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly hostname?: string;
  /** With a key, requests without it as their bearer token get the aggregator's 401. */
  readonly apiKey?: string;
  /** Calls run on the caller's own account with the host (`is_byok`): the aggregator's `cost` is then only its fee. */
  readonly ownAccount?: boolean;
  readonly script?: Script;
  /** How many of the newest requests are remembered. Default 0: a demo that runs for weeks must not grow. */
  readonly remember?: number;
}

/** Selects the behaviour of a request; undefined selects the demo's answer. */
export type Script = (request: RecordedRequest) => Behaviour | undefined;

export interface Simulator {
  /** What `UPSTREAM_BASE_URL` is to be set to: `http://127.0.0.1:PORT/api/v1`. */
  readonly url: string;
  readonly port: number;
  /** The newest requests, oldest first. */
  readonly requests: readonly RecordedRequest[];
  /** All requests ever received; the next one will have this index. */
  received(): number;
  /** The request with this index, as soon as it has come. */
  request(index: number): Promise<RecordedRequest>;
  /** Behaviours for the next requests, one each, before the script is asked. */
  next(...behaviours: readonly Behaviour[]): void;
  /** Replaces the script. */
  follow(script: Script | undefined): void;
  /** What the aggregator charges for everything so far, in nano-USD. */
  billedNanoUsd(): number;
  connections(): number;
  /** Requests that have neither been answered, nor cut, nor given up by the caller. */
  unfinished(): number;
  closeIdleConnections(): void;
  stop(): Promise<void>;
}

export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const remembered: RecordedRequest[] = [];
  const awaited = new Map<number, (request: RecordedRequest) => void>();
  const queue: Behaviour[] = [];
  let script = options.script;
  let received = 0;
  let unfinished = 0;
  let billed = 0;
  const generations = new Map<string, Generation>();
  const tools = {
    generated: (id: string, generation: Generation) => {
      generations.set(id, generation);
      if (generations.size > maxGenerations) generations.delete(generations.keys().next().value ?? "");
    },
    timers: options.timers,
    random: options.random,
    now: () => options.clock.now(),
    ownAccount: options.ownAccount === true,
    billed: (amount: number) => {
      billed += amount;
    },
  };

  const answer = async (request: WireRequest, wire: Wire): Promise<void> => {
    const record = recordOf(request, received++, options.clock.now());
    remember(record);
    unfinished += 1;
    record.ended.then(() => {
      unfinished -= 1;
    });
    const model = modelNamed(record.body?.["model"], options.models());
    const exchange = new SimulatedExchange(wire, record, model, tools);
    awaited.get(record.index)?.(record);
    awaited.delete(record.index);
    const scripted = isChat(record) ? (queue.shift() ?? script?.(record)) : undefined;
    await (scripted ?? usualBehaviour(record, model, options, generations))(exchange);
  };

  function remember(record: MutableRecord): void {
    if ((options.remember ?? 0) === 0) return;
    remembered.push(record);
    if (remembered.length > (options.remember ?? 0)) remembered.shift();
  }

  const server = await listenOnWire(
    { port: options.port ?? 0, hostname: options.hostname ?? "127.0.0.1" },
    (request, wire) => void answer(request, wire),
  );

  return {
    url: `http://${options.hostname ?? "127.0.0.1"}:${server.port}/api/v1`,
    port: server.port,
    requests: remembered,
    received: () => received,
    request(index) {
      const come = remembered.find((request) => request.index === index);
      if (come !== undefined) return Promise.resolve(come);
      if (index < received) return Promise.reject(new Error(`request ${index} has come and was not remembered`));
      return new Promise((resolve) => awaited.set(index, resolve));
    },
    next: (...behaviours) => void queue.push(...behaviours),
    follow(next) {
      script = next;
    },
    billedNanoUsd: () => billed,
    connections: server.connections,
    unfinished: () => unfinished,
    closeIdleConnections: server.closeIdle,
    stop: server.stop,
  };
}

function modelNamed(id: unknown, models: Iterable<Model>): Model | undefined {
  for (const model of models) if (model.upstreamId === id) return model;
  return undefined;
}

/** What the aggregator does with a request that no script handles. */
function usualBehaviour(
  request: RecordedRequest,
  model: Model | undefined,
  options: SimulatorOptions,
  generations: ReadonlyMap<string, Generation>,
): Behaviour {
  const path = request.path.split("?")[0] ?? "";
  if (request.method === "GET" && path.endsWith("/models")) return replies(200, listOf(options.models()));
  const isGeneration = request.method === "GET" && path.endsWith("/generation");
  if (!isChat(request) && !isGeneration) return fails(404, `no such page: ${path}`);
  if (options.apiKey !== undefined && request.headers["authorization"] !== `Bearer ${options.apiKey}`)
    return fails(401, "No auth credentials found");
  if (isGeneration) {
    const id = new URLSearchParams(request.path.split("?")[1]).get("id") ?? "";
    const generation = generations.get(id);
    // A call that is under way has no record yet.
    if (generation?.record.outcome === undefined) return fails(404, `Generation ${id} not found`);
    return replies(200, generationOf(id, generation));
  }
  if (!Array.isArray(request.body?.["messages"])) return fails(400, "messages: expected an array");
  if (model === undefined) return fails(400, `${JSON.stringify(request.body["model"])} is not a valid model ID`);
  return withinLimit(request.body, model, options.clock.now()) ? says() : filtered(model);
}

/** Calls that can be asked about, the newest ones. */
const maxGenerations = 10_000;

/** `GET /generation?id=` as the aggregator answers it, in part: what a call was billed. */
function generationOf(id: string, { record, hostCost }: Generation): JsonObject {
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

function isChat(request: { method: string; path: string }): boolean {
  return request.method === "POST" && (request.path.split("?")[0] ?? "").endsWith("/chat/completions");
}

/** Whether the model's price, in the tier and at the hour of this call, is within the `provider.max_price` that it came with. */
function withinLimit(body: JsonObject, model: Model, nowMs: number): boolean {
  const limit = objectOr(objectOr(body["provider"])?.["max_price"]);
  if (limit === undefined) return true;
  const rates = ratesOf(model.price, promptTokensOf(body).input, { fromMs: nowMs, toMs: nowMs });
  const prices = { prompt: rates.input, completion: rates.output, request: rates.request ?? 0 };
  return Object.entries(prices).every(
    ([name, nano]) => limit[name] == null || nano <= Math.round(Number(limit[name]) * 1e9),
  );
}

/** What the aggregator answers when none of a model's hosts is within the constraints of a call. */
function filtered(model: Model): Behaviour {
  const message = `No endpoints found for ${model.upstreamId} that satisfy the request's constraints`;
  return replies(404, { error: { code: 404, message, availability: { code: "constraint_filtered" } } });
}

/** `GET /models` as the aggregator lists them, prices in USD per token as decimal text. */
function listOf(models: Iterable<Model>): JsonObject {
  return {
    data: [...models].map((model) => ({
      id: model.upstreamId,
      name: `Simulated ${model.upstreamId}`,
      created: 1_700_000_000,
      context_length: model.contextTokens,
      architecture: { modality: "text->text", input_modalities: ["text"], output_modalities: ["text"] },
      pricing: {
        ...pricingOf(model.price),
        ...(model.price.bands === undefined ? {} : { overrides: model.price.bands.map(overrideOf) }),
      },
      top_provider: { context_length: model.contextTokens, max_completion_tokens: model.maxOutputTokens },
      supported_parameters: ["max_tokens", "response_format", "stop", "temperature", "tool_choice", "tools", "top_p"],
    })),
  };
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
    ...(fromInputTokens === undefined ? {} : { min_prompt_tokens: fromInputTokens }),
    ...(window === undefined ? {} : { utc_start: timeOf(window.fromMinute), utc_end: timeOf(window.toMinute) }),
    ...pricingOf(rates),
  };
}

function timeOf(minute: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(Math.floor(minute / 60))}:${two(minute % 60)}`;
}
