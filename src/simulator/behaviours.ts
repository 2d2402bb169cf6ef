import type { JsonObject } from "#domain/chat.ts";
import { nanoUsd } from "#domain/money/money.ts";
import { type Completion, chunksOf, wholeAnswer } from "./completion.ts";
import type { AnswerContent } from "./persona.ts";
import type { Behaviour, Framing, SimulatedExchange } from "./simulated-exchange.ts";

/** Ready-made behaviours. Points in time are promises that the test resolves, never delays. */

type Headers = { readonly [name: string]: string };

const json: Headers = { "content-type": "application/json" };
const sse: Headers = { "content-type": "text/event-stream", "cache-control": "no-cache" };

/** Answers as the model would, or with the words given, in JSON or as a stream, whichever was asked for. */
export function completes(said: Partial<AnswerContent> = {}): Behaviour {
  return (exchange) => answerWith(exchange, exchange.completion(said));
}

/** A status with a body: an object as JSON, a string as it is. Bills nothing unless `bills` is set. */
export function replies(
  status: number,
  body: JsonObject | string,
  options: { headers?: Headers; bills?: number } = {},
): Behaviour {
  return async (exchange) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    if (options.bills !== undefined) exchange.bill(nanoUsd(options.bills));
    await exchange.head(status, { ...json, ...options.headers }, "length", Buffer.byteLength(text));
    await exchange.part(text);
    await exchange.finish();
  };
}

/** An error in the aggregator's dialect: `{"error": {"code", "message"}}` with the status in both places. */
export function fails(status: number, message = `simulated ${status}`, headers: Headers = {}): Behaviour {
  return replies(status, { error: { code: status, message } }, { headers });
}

export interface StreamScript {
  /** Objects become `data:` lines; strings are sent unchanged (comments, malformed or multi-line events). */
  readonly events: readonly (JsonObject | string)[] | ((exchange: SimulatedExchange) => Iterable<JsonObject | string>);
  /** Asked before each event (0 is the first); the event waits for the promise. */
  readonly gate?: (index: number) => Promise<unknown> | undefined;
  /** The headers wait for this. */
  readonly before?: Promise<unknown>;
  readonly framing?: Exclude<Framing, "length">;
  readonly headers?: Headers;
  /** After the last event: `done` sends `[DONE]` and ends well; `clean` ends well without it; the others break off. */
  readonly end?: "done" | "clean" | "fin" | "rst" | "silence";
  /** The cost, billed as soon as the headers are sent. Default: the cost of its tokens at the model's prices. */
  readonly bills?: number;
}

/** A stream of exactly these events. */
export function streams(script: StreamScript): Behaviour {
  return async (exchange) => {
    await exchange.until(script.before);
    exchange.bill(script.bills === undefined ? exchange.completion({ text: "ok" }).cost : nanoUsd(script.bills));
    await exchange.head(200, { ...sse, ...script.headers }, script.framing ?? "chunked");
    const events = typeof script.events === "function" ? script.events(exchange) : script.events;
    let index = 0;
    for (const event of events) {
      await exchange.until(script.gate?.(index++));
      if (exchange.over) return;
      await exchange.event(event);
    }
    await exchange.until(script.gate?.(index));
    const end = script.end ?? "done";
    if (end === "silence") await exchange.until(new Promise(() => undefined));
    else if (end === "fin" || end === "rst") exchange.cut(end);
    else {
      if (end === "done") await exchange.part("data: [DONE]\n\n");
      await exchange.finish();
    }
  };
}

/** Exact bytes from the status line on, then what is named. `gate` is waited for between the bytes and the end. */
export function writesRaw(
  bytes: string | Uint8Array,
  then: "fin" | "rst" | "silence",
  options: { gate?: Promise<unknown>; bills?: number } = {},
): Behaviour {
  return async (exchange) => {
    if (options.bills !== undefined) exchange.bill(nanoUsd(options.bills));
    await exchange.raw(bytes);
    await exchange.until(options.gate);
    if (then === "silence") await exchange.until(new Promise(() => undefined));
    else exchange.cut(then);
  };
}

/** Accepts the request and never answers, until the caller gives up. Bills `bills`: a hung model may have worked. */
export function silent(options: { bills?: number } = {}): Behaviour {
  return (exchange) => {
    if (options.bills !== undefined) exchange.bill(nanoUsd(options.bills));
  };
}

/** Closes the connection on the arrival of the request, without a byte. */
export function disconnects(how: "fin" | "rst", options: { bills?: number } = {}): Behaviour {
  return (exchange) => {
    if (options.bills !== undefined) exchange.bill(nanoUsd(options.bills));
    exchange.cut(how);
  };
}

/** Answers in full after a test's promise: for calls that are to overlap. */
export function after(gate: Promise<unknown>, behaviour: Behaviour): Behaviour {
  return async (exchange) => {
    await exchange.until(gate);
    if (!exchange.over) await behaviour(exchange);
  };
}

/** A chunk of a stream as the aggregator sends it, for scripts that write their own events. */
export function chunk(delta: JsonObject, finishReason: string | null = null, more: JsonObject = {}): JsonObject {
  return {
    id: "gen-1-scripted",
    provider: "Simulated",
    model: "simulated/model",
    object: "chat.completion.chunk",
    created: 1_700_000_000,
    choices: [{ index: 0, delta, finish_reason: finishReason, native_finish_reason: finishReason, logprobs: null }],
    ...more,
  };
}

/** The usage chunk that comes last, with no choices; cost in USD. */
export function usageChunk(usage: { input: number; output: number; costUsd?: number }): JsonObject {
  return {
    ...chunk({}),
    choices: [],
    usage: {
      prompt_tokens: usage.input,
      completion_tokens: usage.output,
      total_tokens: usage.input + usage.output,
      ...(usage.costUsd === undefined ? {} : { cost: usage.costUsd }),
    },
  };
}

/** Milliseconds to the first token and tokens a second, by role: what such models take on a good day. */
const paces = {
  scout: { firstTokenMs: 160, tokensPerSecond: 140 },
  worker: { firstTokenMs: 260, tokensPerSecond: 110 },
  senior: { firstTokenMs: 520, tokensPerSecond: 60 },
  emergency: { firstTokenMs: 420, tokensPerSecond: 80 },
} as const;

async function answerWith(exchange: SimulatedExchange, completion: Completion): Promise<void> {
  const pace = paces[completion.model.role];
  const headers = { "x-generation-id": completion.id };
  exchange.generated(completion.id, completion.hostCost);
  if (exchange.request.body?.["stream"] === true) {
    await exchange.pause(pace.firstTokenMs * 0.4);
    if (exchange.over) return;
    // The generation has begun: from now on it is billed in full, also when the caller disconnects.
    exchange.bill(completion.cost);
    await exchange.head(200, { ...sse, ...headers }, "chunked");
    await exchange.part(": SIMULATED PROCESSING\n\n");
    await exchange.pause(pace.firstTokenMs * (0.4 + 0.4 * exchange.random()));
    for (const event of chunksOf(completion)) {
      if (exchange.over) return;
      await exchange.event(event);
      await exchange.pause((1000 / pace.tokensPerSecond) * (0.5 + exchange.random()));
    }
    await exchange.part("data: [DONE]\n\n");
  } else {
    // A whole answer that would take a minute to write does not help a user of the demo.
    await exchange.pause(pace.firstTokenMs + Math.min(3_000, (1000 * completion.usage.output) / pace.tokensPerSecond));
    if (exchange.over) return;
    exchange.bill(completion.cost);
    const text = JSON.stringify(wholeAnswer(completion));
    await exchange.head(200, { ...json, ...headers }, "length", Buffer.byteLength(text));
    await exchange.part(text);
  }
  await exchange.finish();
}
