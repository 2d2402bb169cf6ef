import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "#domain/chat.ts";
import type { ChunkRun } from "#upstream/upstream.ts";
import { ChunkTemplate } from "./chunk-template.ts";

const chunkOf = (content: string, more: JsonObject = {}): JsonObject => ({
  id: "gen-1",
  model: "vendor/model",
  choices: [{ index: 0, delta: { role: "assistant", content, reasoning: null }, finish_reason: null }],
  ...more,
});

/** The result of the template of `like` for an event with this data. */
function known(like: string, data: string) {
  const before = ": before\n\n";
  const text = `${before}data: ${data}\n\ndata: after`;
  return ChunkTemplate.of(like, JSON.parse(like))?.match(text, before.length, before.length + data.length + 8);
}

/** The contents of a run's events as JSON text, by the places that it names. */
function contentsOf({ events, contentEnds, template: { head, tail } }: ChunkRun): string[] {
  return contentEnds.map((end, at) =>
    events.slice((at === 0 ? 0 : (contentEnds[at - 1] ?? 0) + tail.length) + head.length, end),
  );
}

describe("the pattern of a stream's chunks", () => {
  const json = (content: string, spaces?: number) =>
    JSON.stringify(chunkOf(content), undefined, spaces).replaceAll("\n", " ");

  test("never matches what the parser would read differently", () => {
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
        const run = known(json("word"), data);
        if (run === undefined) return;
        const parsed = JSON.parse(data);
        expect(parsed).toEqual(chunkOf(parsed.choices[0].delta.content));
        expect(contentsOf(run)).toHaveLength(1);
      }),
      { numRuns: 2_000 },
    );
  });
});
