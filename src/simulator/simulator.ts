import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import { ratesOf } from "#domain/money/prices.ts";
import type { Clock, Random, Timers } from "#platform/time.ts";
import { completes, fails, replies } from "./behaviours.ts";
import { countPromptTokens } from "./completion.ts";
import { objectOr } from "./simulated-answer.ts";
import { Account, type Behaviour, type RecordedRequest, SimulatedExchange } from "./simulated-exchange.ts";

/**
 * An aggregator of models on loopback. Without a script it is the upstream of demo mode and answers every request as a
 * real one would, marked as simulated; with one, each request gets the scripted behaviour. In both cases it records its
 * requests and keeps a bill of its own, against which tests compare the gateway's ledger.
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
  /** Its pages beside chats. The demo has none: nothing in it asks for them. */
  readonly pages?: (request: RecordedRequest, account: Account, options: SimulatorOptions) => Behaviour | undefined;
  readonly script?: Script;
  /** How many of the newest requests are remembered. Default 0: a demo that runs for weeks must not grow. */
  readonly remember?: number;
}

/** Selects the behaviour of a request; undefined selects the demo's answer. */
export type Script = (request: RecordedRequest) => Behaviour | undefined;

export type Simulator = Awaited<ReturnType<typeof startSimulator>>;

export async function startSimulator(options: SimulatorOptions) {
  const { models, random, timers, hostname = "127.0.0.1", ownAccount = false, remember = 0 } = options;
  const now = () => options.clock.now();
  const account = new Account();
  const world = { timers, random, now, ownAccount, account, findModel: (id: unknown) => findModel(id, models()) };
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
    const rawBody = Buffer.concat(chunks).toString("utf8");
    const exchange = new SimulatedExchange(request, response, { index: received++, onConnection, rawBody }, world);
    const record = exchange.request;
    if (remember > 0 && remembered.push(record) > remember) remembered.shift();
    unfinished += 1;
    record.ended.then(() => {
      unfinished -= 1;
    });
    awaited.get(record.index)?.(record);
    awaited.delete(record.index);
    const scripted = isChat(record) ? (queue.shift() ?? script?.(record)) : undefined;
    await (scripted ?? usualBehaviour(record, exchange.model, options, account))(exchange);
  }

  const server = createServer({ keepAliveTimeout: 0, noDelay: true }, (...exchange) => void answer(...exchange));
  server.on("connection", (socket: Socket) => {
    served.set(socket, 0);
    socket.on("close", () => served.delete(socket));
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, hostname, resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port, not on a socket file

  return {
    /** What `UPSTREAM_BASE_URL` is to be set to. */
    url: `http://${hostname}:${port}/api/v1`,
    port,
    /** The newest requests, oldest first. */
    requests: remembered as readonly RecordedRequest[],
    /** All requests ever received; the next one will have this index. */
    received: () => received,
    /** The request with this index, as soon as it has come. */
    request(index: number): Promise<RecordedRequest> {
      const come = remembered.find((request) => request.index === index);
      if (come !== undefined) return Promise.resolve(come);
      if (index < received) return Promise.reject(new Error(`request ${index} has come and was not remembered`));
      return new Promise((resolve) => awaited.set(index, resolve));
    },
    /** Behaviours for the next requests, one each, before the script is asked. */
    next: (...behaviours: readonly Behaviour[]) => void queue.push(...behaviours),
    /** Replaces the script. */
    follow(next: Script | undefined): void {
      script = next;
    },
    /** What the aggregator charges for everything so far, in nano-USD. */
    billedNanoUsd: () => account.billed,
    /** Another program spends this amount with the same key, in nano-USD. */
    spendElsewhere(amount: number): void {
      account.day(now()).spent += amount;
    },
    connections: () => served.size,
    /** Requests that have neither been answered, nor cut, nor given up by the caller. */
    unfinished: () => unfinished,
    closeIdleConnections: () => server.closeIdleConnections(),
    stop(): Promise<void> {
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
  const page = request.method === "GET" ? options.pages?.(request, account, options) : undefined;
  if (page !== undefined) return page;
  if (!isChat(request)) return fails(404, `no such page: ${request.path}`);
  if (!isAuthorized(request, options)) return fails(401, "No auth credentials found");
  if (!Array.isArray(request.body?.["messages"])) return fails(400, "messages: expected an array");
  if (model === undefined) return fails(400, `${JSON.stringify(request.body["model"])} is not a valid model ID`);
  if (isWithinLimit(request.body, model, options.clock.now())) return completes();
  // None of the model's hosts is within the constraints of the call.
  const message = `No endpoints found for ${model.upstreamId} that satisfy the request's constraints`;
  return replies(404, { error: { code: 404, message, availability: { code: "constraint_filtered" } } });
}

export function isAuthorized({ headers }: RecordedRequest, { apiKey }: SimulatorOptions): boolean {
  return apiKey === undefined || headers["authorization"] === `Bearer ${apiKey}`;
}

function isChat({ method, path }: RecordedRequest): boolean {
  return method === "POST" && /\/chat\/completions(?:\?|$)/.test(path);
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
