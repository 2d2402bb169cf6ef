import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import { splitChunk } from "./split-chunk.ts";

/** The caller's view of chunks: texts joined by choice and position, everything else as last stated. */
function joined(chunks: readonly JsonObject[]) {
  const texts = new Map<string, string>();
  const others = new Map<string, Json>();
  for (const chunk of chunks) {
    for (const [name, value] of Object.entries(chunk)) if (name !== "choices") others.set(name, value ?? null);
    for (const choice of chunk["choices"] as JsonObject[]) {
      const at = `choice ${choice["index"]}`;
      if (choice["finish_reason"] !== null) others.set(`${at} finish`, choice["finish_reason"] ?? null);
      note(at, choice["delta"] ?? null, texts, others);
    }
  }
  return { texts: Object.fromEntries(texts), others: Object.fromEntries(others) };
}

function note(at: string, value: Json, texts: Map<string, string>, others: Map<string, Json>): void {
  if (Array.isArray(value)) {
    for (const item of value) note(`${at} ${isObject(item) ? item["index"] : ""}`, item, texts, others);
  } else if (isObject(value)) {
    for (const [name, item] of Object.entries(value)) {
      const place = `${at}.${name}`;
      if (typeof item !== "string") note(place, item ?? null, texts, others);
      else if (name === "role" || name === "id") others.set(place, item);
      else texts.set(place, (texts.get(place) ?? "") + item);
    }
  } else others.set(at, value);
}

const text = fc.string({ unit: "binary", maxLength: 40 });
const call = fc.record({ index: fc.nat(3), id: fc.string(), function: fc.record({ name: text, arguments: text }) });
const delta = fc.record(
  {
    role: fc.constant("assistant"),
    content: text,
    reasoning: text,
    refusal: text,
    tool_calls: fc.uniqueArray(call, { maxLength: 3, selector: ({ index }) => index }),
  },
  { requiredKeys: [] },
);
const choice = fc.record({ index: fc.nat(3), delta, finish_reason: fc.constantFrom(null, "stop", "tool_calls") });
const chunks = fc.record(
  {
    id: fc.string(),
    choices: fc.uniqueArray(choice, { minLength: 1, maxLength: 3, selector: ({ index }) => index }),
    usage: fc.record({ cost: fc.nat() }),
  },
  { requiredKeys: ["choices"] },
);

describe("a chunk in pieces", () => {
  test("means the same to callers, and its longest text is sent in short pieces of whole characters", () => {
    fc.assert(
      fc.property(chunks, fc.integer({ min: 1, max: 50 }), (whole, pieceLength) => {
        const chunk: JsonObject = structuredClone(whole);
        const events = [...splitChunk(chunk, undefined, pieceLength)];
        // Each in the state in which it was delivered.
        const pieces: JsonObject[] = events.map(({ raw }) => JSON.parse(raw));
        expect(joined(pieces)).toEqual(joined([structuredClone(whole)]));
        for (const piece of pieces.slice(1)) {
          for (const part of Object.values(joined([piece]).texts)) {
            expect(part.length).toBeLessThanOrEqual(pieceLength + 1);
            expect(part.isWellFormed()).toBe(true);
          }
        }
      }),
    );
  });

  test("has the finish reason and the usage in its last piece only", () => {
    const chunk = {
      choices: [{ index: 0, delta: { role: "assistant", content: "abcdef" }, finish_reason: "stop" }],
      usage: { cost: 1 },
    };
    const pieces = [...splitChunk(chunk, "{}", 2)].map(({ raw }) => JSON.parse(raw));
    const piece = (content: string) => ({ index: 0, delta: { content }, finish_reason: null });
    expect(pieces).toEqual([
      { choices: [{ index: 0, delta: { role: "assistant", content: "ab" }, finish_reason: null }] },
      { choices: [piece("cd")] },
      { choices: [{ ...piece("ef"), finish_reason: "stop" }], usage: { cost: 1 } },
    ]);
  });

  test("is unchanged if none of its texts is long", () => {
    const chunk = { choices: [{ index: 0, delta: { images: [{ url: "x".repeat(100) }] }, finish_reason: null }] };
    const raw = ` ${JSON.stringify(chunk)}`;
    expect([...splitChunk(chunk, raw, 10)]).toEqual([{ kind: "chunk", raw, chunk }]);
  });
});
