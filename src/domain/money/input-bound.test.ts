import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Json, JsonObject } from "#domain/chat.ts";
import { inputBoundOf } from "./input-bound.ts";

/** UTF-8 bytes of every string in a body, keys included: all text that a tokenizer could read. */
function textBytes(value: Json): number {
  if (typeof value === "string") return new TextEncoder().encode(value).length;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + textBytes(item), 0);
  if (value === null || typeof value !== "object") return 0;
  return Object.entries(value).reduce((sum, [key, item]) => sum + textBytes(key) + textBytes(item), 0);
}

describe("the bound on input tokens", () => {
  test("is at least the bytes of all text sent, plus 8 per message and 64", () => {
    const text = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(
        fc.array(fc.record({ role: fc.constant("user"), content: text })),
        fc.jsonValue(),
        (messages, tools) => {
          const body = { messages, tools } as JsonObject; // fast-check's JSON type has other names for the same values
          expect(inputBoundOf(body)).toBeGreaterThanOrEqual(textBytes(body) + 8 * messages.length + 64);
        },
      ),
    );
  });
  test("counts tools and response formats, not only messages", () => {
    const bare = inputBoundOf({ messages: [] });
    expect(inputBoundOf({ messages: [], tools: [{ name: "x".repeat(500) }] })).toBeGreaterThanOrEqual(bare + 500);
    expect(inputBoundOf({ messages: [], response_format: { schema: "x".repeat(500) } })).toBeGreaterThanOrEqual(
      bare + 500,
    );
  });
});
