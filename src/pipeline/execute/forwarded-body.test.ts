import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ChatRequest, JsonObject } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import { forwardedBody } from "./forwarded-body.ts";

const model = { key: "vendor_v4_flash", upstreamId: "vendor/v4-flash" } as Model; // the fields that are read

function forward(body: JsonObject, outputBound = 4096): JsonObject {
  const bounds = [body["max_tokens"], body["max_completion_tokens"]].filter((bound) => typeof bound === "number");
  const request = {
    stream: body["stream"] === true,
    requestedOutputTokens: Math.max(0, ...bounds) || null,
  } as ChatRequest; // the fields that are read
  return forwardedBody(request, body, model, outputBound);
}

const messages = [{ role: "user", content: "hello" }];

describe("the forwarded body", () => {
  test("has the upstream's model id and the output bound, and is otherwise the caller's, in the caller's order", () => {
    const sent = {
      seed: 7,
      model: "smart-router",
      tools: [{ type: "function", function: { name: "f", parameters: { deep: [[[null]]] } } }],
      messages,
      ключ: null,
    };
    expect(JSON.stringify(forward(sent))).toBe(JSON.stringify({ ...sent, model: "vendor/v4-flash", max_tokens: 4096 }));
  });

  test("has the held output bound instead of zeros, which many servers read as no bound", () => {
    expect(forward({ messages, max_tokens: 0 })["max_tokens"]).toBe(4096);
    const held = { messages, model: "vendor/v4-flash", max_tokens: 4096 };
    expect(forward({ messages, max_completion_tokens: 0 })).toEqual(held);
    const both = { max_tokens: 9, max_completion_tokens: 9 };
    expect(forward({ messages, ...both, max_tokens: 0 })).toMatchObject(both);
    expect(forward({ messages, max_tokens: 9, max_completion_tokens: 0 })).not.toHaveProperty("max_completion_tokens");
  });

  test("always requests the cost of the call", () => {
    expect(forward({ messages, usage: { include: false, x: 1 } })["usage"]).toEqual({ include: true, x: 1 });
    expect(forward({ messages, usage: false })["usage"]).toEqual({ include: true });
    expect(forward({ messages, usage: null })["usage"]).toBeNull();
    expect(forward({ messages })).not.toHaveProperty("usage");
  });

  test("a bound of null counts as none set", () => {
    expect(forward({ messages, max_tokens: null, max_completion_tokens: null })).toMatchObject({
      max_tokens: 4096,
      max_completion_tokens: null,
    });
  });

  test("keeps metadata without gateway keys, also if empty or null", () => {
    expect(forward({ messages, metadata: {} })["metadata"]).toEqual({});
    expect(forward({ messages, metadata: null })["metadata"]).toBeNull();
    expect(forward({ messages, metadata: { mine: 1 } })["metadata"]).toEqual({ mine: 1 });
  });

  test("is made without changing the request", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("metadata", "stream", "stream_options", "max_tokens", "x"), fc.jsonValue()),
        (sent) => {
          const body = sent as JsonObject; // jsonValue's type is wider than ours in name only
          const before = JSON.stringify(body);
          forward(body);
          expect(JSON.stringify(body)).toBe(before);
        },
      ),
    );
  });
});
