import type { JsonObject } from "#domain/chat.ts";
import { nanoUsd } from "#domain/money/money.ts";
import { type Headers, sse } from "#simulator/behaviours.ts";
import type { Behaviour, Framing, SimulatedExchange } from "#simulator/simulated-exchange.ts";

/** Behaviours for tests, faults above all. Points in time are promises that the test resolves, never delays. */

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
    exchange.head(200, { ...sse, ...script.headers }, script.framing ?? "chunked");
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
      exchange.finish();
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
