/**
 * Time of the check of a chat request's fields other than `model`, `messages` and `metadata`: by hand and by the published
 * schema. Run: `bun bench/parts/chat-fields.ts`. Each figure is the best of twenty rounds.
 */
import { z } from "zod";
import type { JsonObject } from "#domain/chat.ts";
import { problemOfFields } from "#http/chat-body/fields.ts";
import { ChatCompletionsBody } from "#http/chat-body/schema.ts";

const { messages: _, model: _model, metadata: _metadata, ...shape } = ChatCompletionsBody.shape;
const schema = z.looseObject(shape);
const usual = { stream: true, stream_options: { include_usage: true }, temperature: 0.2, max_tokens: 4_096 };
const tools = Array.from({ length: 20 }, (_, index) => ({
  type: "function",
  function: { name: `tool_${index}`, parameters: { type: "object", properties: { path: { type: "string" } } } },
}));
const bodies: { [name: string]: JsonObject } = {
  "four fields": usual,
  "and 20 tools": { ...usual, tools, tool_choice: "auto" },
};

for (const [name, body] of Object.entries(bodies)) {
  const checks = {
    "by hand": () => problemOfFields(body) === undefined,
    "by the schema": () => schema.safeParse(body).success,
  };
  for (const [how, check] of Object.entries(checks)) {
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 20; round++) {
      const startedMs = performance.now();
      for (let i = 0; i < 20_000; i++) if (!check()) throw new Error("the example is valid");
      best = Math.min(best, performance.now() - startedMs);
    }
    console.log(`${name}, ${how}: ${((best / 20_000) * 1_000).toFixed(2)} µs`);
  }
}
