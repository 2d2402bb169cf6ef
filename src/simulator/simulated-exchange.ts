import type { IncomingMessage, ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import type { NanoUsd } from "#domain/money/money.ts";
import { type Completion, createCompletion } from "./completion.ts";
import { type AnswerContent, simulatedAnswer } from "./simulated-answer.ts";

/** How an exchange ended, as the upstream saw it: answered in full, cut off by the upstream, or ended by the caller's disconnect. */
export type Outcome = "answered" | "cut" | "caller_gone";

/** What the upstream remembers of one request. */
export interface RecordedRequest {
  /** Counted from 0 over the simulator's life. */
  readonly index: number;
  /** Number of this request on its connection: above 0 a kept-alive socket was reused. */
  readonly onConnection: number;
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: { readonly [name: string]: string };
  readonly rawBody: string;
  /** The body as JSON; undefined when it is none or no object. */
  readonly body: JsonObject | undefined;
  readonly receivedAtMs: number;
  /** Undefined while the exchange goes on. */
  outcome: Outcome | undefined;
  /** Bytes of the body, or of the raw bytes, that were passed to the kernel. */
  bytesSent: number;
  /** Data events of a stream sent so far. */
  eventsSent: number;
  /** What the aggregator charges for it, whatever the caller got to see. */
  billedNanoUsd: number;
  /** Resolves when the exchange is over. */
  readonly ended: Promise<Outcome>;
}

/** How the end of a body is marked: by chunks, by its announced length, or by the close of the connection. */
export type Framing = "chunked" | "length" | "close";

/** How one request is answered: it writes to the exchange and resolves when it has no more to do. */
export type Behaviour = (exchange: SimulatedExchange) => Promise<void> | void;

/** One request being answered: the operations that behaviours use. */
export class SimulatedExchange {
  readonly request: RecordedRequest;
  readonly model: Model | undefined;
  readonly #response: ServerResponse;
  readonly #world: SimulatedWorld;
  readonly #ended = Promise.withResolvers<Outcome>();
  /** Its id has been sent. */
  #idAnnounced = false;

  constructor(
    { method = "", url: path = "", headers }: IncomingMessage,
    response: ServerResponse,
    received: Pick<RecordedRequest, "index" | "onConnection" | "rawBody">,
    world: SimulatedWorld,
  ) {
    this.#response = response;
    this.#world = world;
    const body = parseObject(received.rawBody);
    this.model = world.findModel(body?.["model"]);
    this.request = {
      ...received,
      method,
      path,
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
      body,
      receivedAtMs: world.now(),
      outcome: undefined,
      bytesSent: 0,
      eventsSent: 0,
      billedNanoUsd: 0,
      ended: this.#ended.promise,
    };
    response.sendDate = false;
    response.on("close", () => this.#end("caller_gone"));
  }

  get over(): boolean {
    return this.request.outcome !== undefined;
  }

  /** Waits as long as a real model would; not at all when the simulator was given no timers. Ends early when over. */
  async pause(delayMs: number): Promise<void> {
    const { timers } = this.#world;
    if (timers === undefined || this.over) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = timers.after(delayMs, resolve);
    await this.until(promise);
    cancel();
  }

  random(): number {
    return this.#world.random();
  }

  /** Waits for a promise of the test's, or for the caller to hang up. */
  until(gate: Promise<unknown> | undefined): Promise<unknown> {
    return gate === undefined || this.over ? Promise.resolve() : Promise.race([gate, this.request.ended]);
  }

  /** What the model would say to this request, or the text that the script gives. */
  completion(said: Partial<AnswerContent> = {}): Completion {
    const body = this.request.body ?? {};
    const { model } = this;
    if (model === undefined) throw new Error(`the simulator knows no model ${JSON.stringify(body["model"])}`);
    const scripted = said.text !== undefined || said.toolCalls !== undefined || said.reasoning !== undefined;
    const words = scripted ? { reasoning: "", text: "", toolCalls: [], ...said } : simulatedAnswer(body, model);
    return createCompletion(body, words, model, this.#world);
  }

  /** Adds an amount to the aggregator's bill; it stays billed, however the answer ends. */
  bill(amount: NanoUsd): void {
    this.request.billedNanoUsd += amount;
    this.#world.account.bill(amount, this.#world.now());
  }

  /** From now on the aggregator reports the cost of the call under this id; `hostCost` is the host's part of it. */
  generated(id: string, hostCost?: NanoUsd): void {
    this.#idAnnounced = true;
    this.#world.account.generated(id, { record: this.request, hostCost }, this.#world.now());
  }

  /** Exact bytes on the connection, whatever they are, past the HTTP server. */
  raw(bytes: string | Uint8Array): Promise<void> {
    return this.#send(bytes, this.#response.socket);
  }

  /** Status line and headers, sent at once; `length` is the length of the whole body where that is the framing. */
  head(status: number, headers: { readonly [name: string]: string }, framing: Framing, length = 0): void {
    if (this.over) return;
    const frames = {
      chunked: { "transfer-encoding": "chunked" },
      length: { "content-length": String(length) },
      close: { connection: "close" },
    };
    const id = headers["x-generation-id"];
    if (id !== undefined && !this.#idAnnounced) this.generated(id);
    if (framing === "close") this.#response.useChunkedEncodingByDefault = false;
    this.#response.writeHead(status, { ...headers, ...frames[framing] });
    this.#response.flushHeaders();
  }

  /** A part of the body. */
  part(text: string): Promise<void> {
    return this.#send(text, this.#response);
  }

  /** One server-sent event: an object as JSON in one `data:` line, a string unchanged. */
  event(event: JsonObject | string): Promise<void> {
    this.request.eventsSent += 1;
    if (!this.#idAnnounced && typeof event !== "string" && typeof event["id"] === "string") {
      this.generated(event["id"]);
    }
    return this.part(typeof event === "string" ? event : `data: ${JSON.stringify(event)}\n\n`);
  }

  /** Ends a whole answer as its framing asks. */
  finish(): void {
    this.#end("answered");
    this.#response.end();
  }

  /** Cuts the answer off, by FIN or by RST; bytes that the caller has not read may be lost with an RST. */
  cut(how: "fin" | "rst"): void {
    this.#end("cut");
    const { socket } = this.#response;
    if (how === "fin") socket?.end();
    // What was written just now leaves the process at the end of this tick.
    else setImmediate(() => socket?.resetAndDestroy());
  }

  /** Resolves when the kernel has accepted the bytes (a caller that does not read delays this), or when the exchange is over. */
  async #send(data: string | Uint8Array, to: Writable | null): Promise<void> {
    if (this.over || to === null) return;
    this.request.bytesSent += Buffer.byteLength(data);
    if (to.write(data)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    to.once("drain", resolve);
    await this.until(promise);
  }

  #end(outcome: Outcome): void {
    if (this.over) return;
    this.request.outcome = outcome;
    this.#ended.resolve(outcome);
  }
}

/** What all exchanges of one simulator share. */
export interface SimulatedWorld {
  readonly timers?: { after(delayMs: number, callback: () => void): () => void } | undefined;
  readonly random: () => number;
  readonly now: () => number;
  /** Calls run on the caller's own account with the host. */
  readonly ownAccount: boolean;
  findModel(id: unknown): Model | undefined;
  readonly account: Account;
}

/** The aggregator's record of a call; `hostCost` is what the model's host charges to the caller's own account. */
export interface Generation {
  readonly record: RecordedRequest;
  readonly hostCost: number | undefined;
}

/** Calls that can be asked about, the newest ones. */
const maxGenerations = 10_000;

/** What was spent with the key, in nano-USD. */
export class Account {
  billed = 0;
  readonly generations = new Map<string, Generation>();
  readonly #days = new Map<number, { spent: number; onOwnAccounts: number }>();

  /** What was spent on the UTC day of `nowMs`. */
  day(nowMs: number): { spent: number; onOwnAccounts: number } {
    const number = Math.floor(nowMs / 86_400_000);
    const day = this.#days.get(number) ?? { spent: 0, onOwnAccounts: 0 };
    this.#days.set(number, day);
    return day;
  }

  bill(amount: number, nowMs: number): void {
    this.billed += amount;
    this.day(nowMs).spent += amount;
  }

  generated(id: string, generation: Generation, nowMs: number): void {
    this.day(nowMs).onOwnAccounts += generation.hostCost ?? 0;
    this.generations.set(id, generation);
    if (this.generations.size > maxGenerations) this.generations.delete(this.generations.keys().next().value ?? "");
  }
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: Json = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    // What is no JSON is recorded as text, and answered with the aggregator's 400.
    return undefined;
  }
}
