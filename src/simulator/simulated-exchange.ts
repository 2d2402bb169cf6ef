import type { Json, JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import { type NanoUsd, nanoUsd } from "#domain/money/money.ts";
import { type Completion, completionOf } from "./completion.ts";
import { type AnswerContent, answerOf } from "./persona.ts";
import type { RawRequest, RawResponse } from "./raw-http-server.ts";

/**
 * How an exchange ended, as the upstream saw it: answered in full, cut off by the upstream, or ended by the caller's disconnect.
 */
export type Outcome = "answered" | "cut" | "caller_gone";

/** What the upstream remembers of one request. */
export interface RecordedRequest {
  /** Counted from 0 over the simulator's life. */
  readonly index: number;
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: { readonly [name: string]: string };
  readonly rawBody: string;
  /** The body as JSON; undefined when it is none or no object. */
  readonly body: JsonObject | undefined;
  /** Number of the connection, and of this request on it: above 0 a kept-alive socket was reused. */
  readonly connection: number;
  readonly onConnection: number;
  readonly receivedAtMs: number;
  /** Undefined while the exchange goes on. */
  readonly outcome: Outcome | undefined;
  readonly endedAtMs: number | undefined;
  readonly bytesSent: number;
  /** Data events of a stream sent so far. */
  readonly eventsSent: number;
  /** What the aggregator charges for it, whatever the caller got to see. */
  readonly billedNanoUsd: number;
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
  /** Aborts when the caller hangs up. */
  readonly aborted: AbortSignal;
  readonly #response: RawResponse;
  readonly #record: MutableRecord;
  readonly #tools: ExchangeTools;
  #framing: Framing = "length";
  /** Its id has been sent. */
  #idAnnounced = false;

  constructor(response: RawResponse, record: MutableRecord, model: Model | undefined, tools: ExchangeTools) {
    this.request = record;
    this.model = model;
    this.aborted = response.aborted;
    this.#response = response;
    this.#record = record;
    this.#tools = tools;
    response.aborted.addEventListener("abort", () => this.#end("caller_gone"));
  }

  get over(): boolean {
    return this.#record.outcome !== undefined;
  }

  /** Waits as long as a real model would; not at all when the simulator was given no timers. Ends early when over. */
  pause(delayMs: number): Promise<void> {
    const { timers } = this.#tools;
    if (timers === undefined || this.over) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = timers.after(delayMs, resolve);
      this.aborted.addEventListener("abort", () => {
        cancel();
        resolve();
      });
    });
  }

  random(): number {
    return this.#tools.random();
  }

  /** Waits for a promise of the test's, or for the caller to hang up. */
  until(gate: Promise<unknown> | undefined): Promise<unknown> {
    return gate === undefined || this.over ? Promise.resolve() : Promise.race([gate, this.#record.ended]);
  }

  /** What the model would say to this request, or the text that the script gives. */
  completion(said: Partial<AnswerContent> = {}): Completion {
    const body = this.request.body ?? {};
    const { model } = this;
    if (model === undefined) throw new Error(`the simulator knows no model ${JSON.stringify(body["model"])}`);
    const scripted = said.text !== undefined || said.toolCalls !== undefined || said.reasoning !== undefined;
    const words = scripted ? { reasoning: "", text: "", toolCalls: [], ...said } : answerOf(body, model);
    return completionOf(body, words, model, this.#tools.now(), this.#tools.random, this.#tools.ownAccount);
  }

  /** Adds an amount to the aggregator's bill; it stays billed, however the answer ends. */
  bill(amount: NanoUsd): void {
    this.#record.billedNanoUsd += amount;
    this.#tools.billed(amount);
  }

  /** From now on the aggregator reports the cost of the call under this id; `hostCost` is the host's part of it. */
  generated(id: string, hostCost?: NanoUsd): void {
    this.#idAnnounced = true;
    this.#tools.generated(id, { record: this.#record, hostCost });
  }

  /** Exact bytes, whatever they are. */
  async raw(bytes: string | Uint8Array): Promise<void> {
    await this.#response.send(bytes);
    this.#record.bytesSent = this.#response.bytesSent();
  }

  /** Status line and headers; `length` is the length of the whole body where that is the framing. */
  head(status: number, headers: { readonly [name: string]: string }, framing: Framing, length = 0): Promise<void> {
    this.#framing = framing;
    const frame = {
      chunked: "transfer-encoding: chunked",
      length: `content-length: ${length}`,
      close: "connection: close",
    };
    const id = headers["x-generation-id"];
    if (id !== undefined && !this.#idAnnounced) this.generated(id);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return this.raw(`HTTP/1.1 ${status} ${reasonOf(status)}\r\n${lines.join("")}${frame[framing]}\r\n\r\n`);
  }

  /** A part of the body. */
  part(text: string): Promise<void> {
    if (this.#framing !== "chunked") return this.raw(text);
    return this.raw(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
  }

  /** One server-sent event: an object as JSON in one `data:` line, a string unchanged. */
  event(event: JsonObject | string): Promise<void> {
    this.#record.eventsSent += 1;
    if (!this.#idAnnounced && typeof event !== "string" && typeof event["id"] === "string") {
      this.generated(event["id"]);
    }
    return this.part(typeof event === "string" ? event : `data: ${JSON.stringify(event)}\n\n`);
  }

  /** Ends a whole answer as its framing asks. */
  async finish(): Promise<void> {
    if (this.#framing === "chunked") await this.raw("0\r\n\r\n");
    this.#end("answered");
    if (this.#framing === "close") this.#response.fin();
    else this.#response.keep();
  }

  /** Cuts the answer off, by FIN or by RST. */
  cut(how: "fin" | "rst"): void {
    this.#end("cut");
    if (how === "fin") this.#response.fin();
    else this.#response.reset();
  }

  #end(outcome: Outcome): void {
    if (this.#record.outcome !== undefined) return;
    this.#record.outcome = outcome;
    this.#record.endedAtMs = this.#tools.now();
    this.#record.bytesSent = this.#response.bytesSent();
    this.#record.settle(outcome);
  }
}

export interface ExchangeTools {
  readonly timers: { after(delayMs: number, callback: () => void): () => void } | undefined;
  readonly random: () => number;
  readonly now: () => number;
  readonly billed: (amount: NanoUsd) => void;
  readonly ownAccount: boolean;
  readonly generated: (id: string, generation: Generation) => void;
}

/** The aggregator's record of a call. */
export interface Generation {
  readonly record: RecordedRequest;
  readonly hostCost: NanoUsd | undefined;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };
export type MutableRecord = Writable<RecordedRequest> & { readonly settle: (outcome: Outcome) => void };

export function recordOf(request: RawRequest, index: number, nowMs: number): MutableRecord {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const rawBody = request.body.toString("utf8");
  return {
    index,
    method: request.method,
    path: request.path,
    headers: request.headers,
    rawBody,
    body: parsedObject(rawBody),
    connection: request.connection,
    onConnection: request.onConnection,
    receivedAtMs: nowMs,
    outcome: undefined,
    endedAtMs: undefined,
    bytesSent: 0,
    eventsSent: 0,
    billedNanoUsd: nanoUsd(0),
    ended: promise,
    settle: resolve,
  };
}

function parsedObject(text: string): JsonObject | undefined {
  try {
    const value: Json = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    // What is no JSON is recorded as text, and answered with the aggregator's 400.
    return undefined;
  }
}

const reasons: { readonly [status: number]: string } = {
  200: "OK",
  400: "Bad Request",
  401: "Unauthorized",
  404: "Not Found",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
};

function reasonOf(status: number): string {
  return reasons[status] ?? "Status";
}
