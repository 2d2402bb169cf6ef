import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "#domain/chat.ts";
import { ChunkTemplate } from "./chunk-template.ts";

const chunkOf = (content: string, more: JsonObject = {}): JsonObject => ({
  id: "gen-1",
  model: "vendor/model",
  choices: [{ index: 0, delta: { role: "assistant", content, reasoning: null }, finish_reason: null }],
  ...more,
});

/** What the pattern of `like` makes of an event with this data. */
function known(like: string, data: string) {
  const text = `: before\n\ndata: ${data}\n\ndata: after`;
  const from = text.indexOf("data: ") + 6;
  return ChunkTemplate.of(like, JSON.parse(like))?.match(text, from, from + data.length);
}

describe("the pattern of a stream's chunks", () => {
  const json = (content: string, spaces?: number) =>
    JSON.stringify(chunkOf(content), undefined, spaces).replaceAll("\n", " ");

  test("matches a chunk that differs only in the text, and reads it as the parser does", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1 }), fc.string({ unit: "binary" }), (first, second) => {
        const data = json(second);
        const chunk = known(json(first), data);
        expect(chunk === undefined).toBe(second === "");
        if (chunk === undefined) return;
        expect(chunk).toMatchObject({ raw: data, chunk: chunkOf(second) });
        expect(chunk.templateMatch?.event).toBe(`data: ${data}\n\n`);
        expect(JSON.parse(`"${chunk.templateMatch?.contentJson}"`)).toBe(second);
        expect(chunk.templateMatch?.withContent("x")).toBe(json("x"));
      }),
    );
  });

  test("matches it however the upstream sets its spaces", () => {
    expect(known(json("a", 1), json("b", 1))?.chunk).toEqual(chunkOf("b"));
  });

  test("never matches what the parser would read otherwise", () => {
    const piece = fc.constantFrom(
      '"',
      "\\",
      "\\u",
      "00",
      "41",
      "\\n",
      "}",
      "]",
      ",",
      ":",
      '"usage":{}',
      '"error":1',
      "\n",
      "\u0001",
      "x",
      "é",
    );
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 8 }), (pieces) => {
        const between = pieces.join("");
        const data = json("@").replace("@", () => between);
        const chunk = known(json("word"), data);
        if (chunk === undefined) return;
        const parsed = JSON.parse(data);
        expect(parsed).toEqual(chunkOf(parsed.choices[0].delta.content));
        expect(chunk.chunk).toEqual(parsed);
      }),
      { numRuns: 2_000 },
    );
  });

  test("does not match a chunk in which anything else is different", () => {
    const like = json("word");
    for (const data of [
      json("word").replace("gen-1", "gen-2"),
      json("word").replace("null}]", '"stop"}]'),
      json('x","usage":{"cost":1},"y":"z').replaceAll('\\"', '"'),
      like.slice(0, -1),
      `${like} `,
      ` ${like}`,
    ]) {
      expect(known(like, data)).toBeUndefined();
    }
  });

  test("is not made of a chunk whose content is not found for certain", () => {
    const of = (raw: string) => ChunkTemplate.of(raw, JSON.parse(raw));
    expect(of('{"choices":[{"delta":{"content":"a"}}]}')).toBeDefined();
    // The content is another than the first thing that looks like it, or is written in another way than ours.
    expect(of('{"x":{"content":"a"},"choices":[{"delta":{"content":"a"}}]}')).toBeUndefined();
    expect(of('{"choices":[{"delta":{"content":"a","content":"\\u0061"}}]}')).toBeUndefined();
    expect(of('{"choices":[{"delta":{"content":"\\u0061"}}]}')).toBeUndefined();
    expect(of('{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}')).toBeUndefined();
    expect(of('{"choices":[{"delta":{"content":""}}]}')).toBeUndefined();
    expect(of('{"choices":[{"delta":{"x\\"content":"a","content":"b"}}]}')?.match).toBeDefined();
  });
});
