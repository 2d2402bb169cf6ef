import type { JsonObject } from "#domain/chat.ts";
import { nanoUsd } from "#domain/money/money.ts";
import { type Completion, completionChunks, wholeAnswer } from "./completion.ts";
import type { AnswerContent } from "./simulated-answer.ts";
import type { Behaviour, SimulatedExchange } from "./simulated-exchange.ts";

/** What the aggregator does with a call. Further behaviours for tests are in `testing/scripted.ts`. */

export type Headers = { readonly [name: string]: string };

const json: Headers = { "content-type": "application/json" };
export const sse: Headers = { "content-type": "text/event-stream", "cache-control": "no-cache" };

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
    exchange.head(status, { ...json, ...options.headers }, "length", Buffer.byteLength(text));
    await exchange.part(text);
    exchange.finish();
  };
}

/** An error in the aggregator's dialect: `{"error": {"code", "message"}}` with the status in both places. */
export function fails(status: number, message = `simulated ${status}`, headers: Headers = {}): Behaviour {
  return replies(status, { error: { code: status, message } }, { headers });
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
    exchange.head(200, { ...sse, ...headers }, "chunked");
    await exchange.part(": SIMULATED PROCESSING\n\n");
    await exchange.pause(pace.firstTokenMs * (0.4 + 0.4 * exchange.random()));
    for (const event of completionChunks(completion)) {
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
    exchange.head(200, { ...json, ...headers }, "length", Buffer.byteLength(text));
    await exchange.part(text);
  }
  exchange.finish();
}
