import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import { ratesOf } from "#domain/money/prices.ts";
import type { Clock, Random, Timers } from "#platform/time.ts";
import {
  Account,
  generationPage,
  hostList,
  keyPage,
  modelList,
  type SimulatedHost,
  simulatedHosts,
} from "./aggregator-pages.ts";
import { completes, fails, replies } from "./behaviours.ts";
import { countPromptTokens } from "./completion.ts";
import { objectOr } from "./persona.ts";
import { type Behaviour, type RecordedRequest, recordRequest, SimulatedExchange } from "./simulated-exchange.ts";

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
  const { models, random, timers, hostname = "127.0.0.1", ownAccount = false, remember = 0 } = options;
  const now = () => options.clock.now();
  const account = new Account();
  const world = { timers, random, now, ownAccount, account };
  const remembered: RecordedRequest[] = [];
  const awaited = new Map<number, (request: RecordedRequest) => void>();
  const queue: Behaviour[] = [];
  /** Open connections, with the number of requests on each. */
  const served = new Map<Socket, number>();
  let script = options.script;
  let received = 0;
  let unfinished = 0;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      return; // The caller has disconnected in the middle of its request.
    }
    const onConnection = served.get(request.socket) ?? 0;
    served.set(request.socket, onConnection + 1);
    const counts = { index: received++, onConnection };
    const record = recordRequest(request, Buffer.concat(chunks).toString("utf8"), counts, now());
    if (remember > 0 && remembered.push(record) > remember) remembered.shift();
    unfinished += 1;
    record.ended.then(() => {
      unfinished -= 1;
    });
    const model = findModel(record.body?.["model"], models());
    const exchange = new SimulatedExchange(response, record, model, world);
    awaited.get(record.index)?.(record);
    awaited.delete(record.index);
    const scripted = isChat(record) ? (queue.shift() ?? script?.(record)) : undefined;
    await (scripted ?? usualBehaviour(record, model, options, account))(exchange);
  }

  const server = createServer({ keepAliveTimeout: 0, noDelay: true }, (...exchange) => void answer(...exchange));
  server.on("connection", (socket: Socket) => {
    served.set(socket, 0);
    socket.on("close", () => served.delete(socket));
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, hostname, resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port, not on a socket file

  return {
    url: `http://${hostname}:${port}/api/v1`,
    port,
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
    billedNanoUsd: () => account.billed,
    spendElsewhere: (amount) => account.spendElsewhere(amount, now()),
    connections: () => served.size,
    unfinished: () => unfinished,
    closeIdleConnections: () => server.closeIdleConnections(),
    stop() {
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function findModel(id: unknown, models: Iterable<Model>): Model | undefined {
  for (const model of models) if (model.upstreamId === id) return model;
  return undefined;
}

/** What the aggregator does with a request that no script handles. */
function usualBehaviour(
  request: RecordedRequest,
  model: Model | undefined,
  options: SimulatorOptions,
  account: Account,
): Behaviour {
  const page = request.method === "GET" ? pageBehaviour(request, options, account) : undefined;
  if (page !== undefined) return page;
  if (!isChat(request)) return fails(404, `no such page: ${pathname(request)}`);
  if (!isAuthorized(request, options)) return fails(401, "No auth credentials found");
  if (!Array.isArray(request.body?.["messages"])) return fails(400, "messages: expected an array");
  if (model === undefined) return fails(400, `${JSON.stringify(request.body["model"])} is not a valid model ID`);
  if (isWithinLimit(request.body, model, options.clock.now())) return completes();
  // None of the model's hosts is within the constraints of the call.
  const message = `No endpoints found for ${model.upstreamId} that satisfy the request's constraints`;
  return replies(404, { error: { code: 404, message, availability: { code: "constraint_filtered" } } });
}

/** The aggregator's pages beside chats; undefined where it has none of that name. */
function pageBehaviour(request: RecordedRequest, options: SimulatorOptions, account: Account): Behaviour | undefined {
  const path = pathname(request);
  if (path.endsWith("/models")) return replies(200, modelList(options.models()));
  const modelId = /\/models\/(.+)\/endpoints$/.exec(path)?.[1];
  if (modelId !== undefined) {
    const model = findModel(decodeURIComponent(modelId), options.models());
    if (model === undefined) return fails(404, `Model ${modelId} not found`);
    return replies(200, hostList(model, options.hosts?.(model) ?? simulatedHosts));
  }
  if (!path.endsWith("/generation") && !path.endsWith("/key")) return undefined;
  if (!isAuthorized(request, options)) return fails(401, "No auth credentials found");
  if (path.endsWith("/key")) return replies(200, keyPage(account.day(options.clock.now())));
  const id = new URLSearchParams(request.path.split("?")[1]).get("id") ?? "";
  const generation = account.generations.get(id);
  // A call that is under way has no record yet.
  if (generation?.record.outcome === undefined) return fails(404, `Generation ${id} not found`);
  return replies(200, generationPage(id, generation));
}

function isAuthorized({ headers }: RecordedRequest, { apiKey }: SimulatorOptions): boolean {
  return apiKey === undefined || headers["authorization"] === `Bearer ${apiKey}`;
}

function pathname({ path }: { path: string }): string {
  return path.split("?")[0] ?? "";
}

function isChat(request: { method: string; path: string }): boolean {
  return request.method === "POST" && pathname(request).endsWith("/chat/completions");
}

/** Whether the model's price, in the tier and at the hour of this call, is within the `provider.max_price` that it came with. */
function isWithinLimit(body: JsonObject, model: Model, nowMs: number): boolean {
  const limit = objectOr(objectOr(body["provider"])?.["max_price"]);
  if (limit === undefined) return true;
  const rates = ratesOf(model.price, countPromptTokens(body).input, { fromMs: nowMs, toMs: nowMs });
  const prices = { prompt: rates.input, completion: rates.output, request: rates.request ?? 0 };
  return Object.entries(prices).every(
    ([name, nano]) => limit[name] == null || nano <= Math.round(Number(limit[name]) * 1e9),
  );
}
