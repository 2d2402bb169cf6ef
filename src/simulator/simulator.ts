import type { JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import { ratesOf } from "#domain/money/prices.ts";
import type { Clock, Random, Timers } from "#platform/time.ts";
import { generationOf, hostsOf, keyOf, listOf, type SimulatedHost, simulatedHosts } from "./aggregator-pages.ts";
import { completes, fails, replies } from "./behaviours.ts";
import { promptTokensOf } from "./completion.ts";
import { objectOr } from "./persona.ts";
import { type RawRequest, type RawResponse, startRawHttpServer } from "./raw-http-server.ts";
import {
  type Behaviour,
  type Generation,
  type MutableRecord,
  type RecordedRequest,
  recordOf,
  SimulatedExchange,
} from "./simulated-exchange.ts";

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
  /** Who serves each model; asked again for each request. */
  readonly hosts?: (model: Model) => readonly SimulatedHost[];
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
  /** Another program spends this amount with the same key, in nano-USD. */
  spendElsewhere(nanoUsd: number): void;
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
  const days = new SpentByDay();
  const generations = new Map<string, Generation>();
  const tools = {
    generated: (id: string, generation: Generation) => {
      days.add(options.clock.now(), 0, generation.hostCost ?? 0);
      generations.set(id, generation);
      if (generations.size > maxGenerations) generations.delete(generations.keys().next().value ?? "");
    },
    timers: options.timers,
    random: options.random,
    now: () => options.clock.now(),
    ownAccount: options.ownAccount === true,
    billed: (amount: number) => {
      billed += amount;
      days.add(options.clock.now(), amount, 0);
    },
  };

  const answer = async (request: RawRequest, response: RawResponse): Promise<void> => {
    const record = recordOf(request, received++, options.clock.now());
    remember(record);
    unfinished += 1;
    record.ended.then(() => {
      unfinished -= 1;
    });
    const model = modelNamed(record.body?.["model"], options.models());
    const exchange = new SimulatedExchange(response, record, model, tools);
    awaited.get(record.index)?.(record);
    awaited.delete(record.index);
    const scripted = isChat(record) ? (queue.shift() ?? script?.(record)) : undefined;
    await (scripted ?? usualBehaviour(record, model, { ...options, generations, days }))(exchange);
  };

  function remember(record: MutableRecord): void {
    if ((options.remember ?? 0) === 0) return;
    remembered.push(record);
    if (remembered.length > (options.remember ?? 0)) remembered.shift();
  }

  const server = await startRawHttpServer(
    { port: options.port ?? 0, hostname: options.hostname ?? "127.0.0.1" },
    (request, response) => void answer(request, response),
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
    spendElsewhere: (amount) => days.add(options.clock.now(), amount, 0),
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

/** What was spent with the key on the current UTC day, in nano-USD. */
class SpentByDay {
  #day = -1;
  #spent = 0;
  #ownAccounts = 0;

  add(nowMs: number, amount: number, ownAccounts: number): void {
    const { day, ownAccountsDay } = this.on(nowMs);
    this.#spent = day + amount;
    this.#ownAccounts = ownAccountsDay + ownAccounts;
  }

  on(nowMs: number): { readonly day: number; readonly ownAccountsDay: number } {
    const day = Math.floor(nowMs / 86_400_000);
    if (day !== this.#day) [this.#day, this.#spent, this.#ownAccounts] = [day, 0, 0];
    return { day: this.#spent, ownAccountsDay: this.#ownAccounts };
  }
}

interface AggregatorState extends SimulatorOptions {
  readonly generations: ReadonlyMap<string, Generation>;
  readonly days: SpentByDay;
}

/** What the aggregator does with a request that no script handles. */
function usualBehaviour(request: RecordedRequest, model: Model | undefined, options: AggregatorState): Behaviour {
  const page = request.method === "GET" ? pageBehaviour(request, options) : undefined;
  if (page !== undefined) return page;
  if (!isChat(request)) return fails(404, `no such page: ${pathOf(request)}`);
  if (!isAuthorized(request, options)) return fails(401, "No auth credentials found");
  if (!Array.isArray(request.body?.["messages"])) return fails(400, "messages: expected an array");
  if (model === undefined) return fails(400, `${JSON.stringify(request.body["model"])} is not a valid model ID`);
  return withinLimit(request.body, model, options.clock.now()) ? completes() : filtered(model);
}

/** The aggregator's pages beside chats; undefined where it has none of that name. */
function pageBehaviour(request: RecordedRequest, options: AggregatorState): Behaviour | undefined {
  const path = pathOf(request);
  if (path.endsWith("/models")) return replies(200, listOf(options.models()));
  const modelId = /\/models\/(.+)\/endpoints$/.exec(path)?.[1];
  if (modelId !== undefined) {
    const model = modelNamed(decodeURIComponent(modelId), options.models());
    if (model === undefined) return fails(404, `Model ${modelId} not found`);
    return replies(200, hostsOf(model, options.hosts?.(model) ?? simulatedHosts));
  }
  if (!path.endsWith("/generation") && !path.endsWith("/key")) return undefined;
  if (!isAuthorized(request, options)) return fails(401, "No auth credentials found");
  if (path.endsWith("/key")) return replies(200, keyOf(options.days.on(options.clock.now())));
  const id = new URLSearchParams(request.path.split("?")[1]).get("id") ?? "";
  const generation = options.generations.get(id);
  // A call that is under way has no record yet.
  if (generation?.record.outcome === undefined) return fails(404, `Generation ${id} not found`);
  return replies(200, generationOf(id, generation));
}

function isAuthorized({ headers }: RecordedRequest, { apiKey }: SimulatorOptions): boolean {
  return apiKey === undefined || headers["authorization"] === `Bearer ${apiKey}`;
}

function pathOf({ path }: { path: string }): string {
  return path.split("?")[0] ?? "";
}

/** Calls that can be asked about, the newest ones. */
const maxGenerations = 10_000;

function isChat(request: { method: string; path: string }): boolean {
  return request.method === "POST" && pathOf(request).endsWith("/chat/completions");
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
