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

  test("matches as many consecutive events as there are, and no part of one", () => {
    const word = fc.string({ unit: "binary", minLength: 1, maxLength: 6 });
    const other = fc.constantFrom(": comment\n\n", "data: [DONE]\n\n", "data: {\n\n", "\n");
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 6 }),
        other,
        fc.array(word, { maxLength: 2 }),
        fc.nat(),
        (run, end, more, cut) => {
          const events = run.map((text) => `data: ${json(text)}\n\n`);
          const text = `${events.join("")}${end}${more.map((each) => `data: ${json(each)}\n\n`).join("")}`;
          const until = cut % (text.length + 1);
          const whole = events.filter((_, at) => events.slice(0, at + 1).join("").length <= until);
          const matched = ChunkTemplate.of(json("x"), chunkOf("x"))?.match(text, 0, until);
          expect(matched?.events ?? "").toBe(whole.join(""));
          expect(matched?.contentEnds.length ?? 0).toBe(whole.length);
          if (matched === undefined) return;
          const contents = contentsOf(matched).map((content) => JSON.parse(`"${content}"`));
          expect(contents).toEqual(run.slice(0, whole.length));
        },
      ),
      { numRuns: 500 },
    );
  });

  test("is not made from a chunk whose content cannot be located with certainty", () => {
    const of = (raw: string) => ChunkTemplate.of(raw, JSON.parse(raw));
    expect(of('{"choices":[{"delta":{"content":"a"}}]}')).toBeDefined();
    // The content is not the first text that looks like it, or is written in another way than ours.
    expect(of('{"x":{"content":"a"},"choices":[{"delta":{"content":"a"}}]}')).toBeUndefined();
    expect(of('{"choices":[{"delta":{"content":"a","content":"\\u0061"}}]}')).toBeUndefined();
    expect(of('{"choices":[{"delta":{"content":"\\u0061"}}]}')).toBeUndefined();
    expect(of('{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}')).toBeUndefined();
    expect(of('{"choices":[{"delta":{"content":""}}]}')).toBeUndefined();
    // Several data lines: in a stream the second line would need the field name before it to be data.
    expect(of('{"choices":\n[{"delta":{"content":"a"}}]}')).toBeUndefined();
    expect(of('{"choices":[{"delta":{"x\\"content":"a","content":"b"}}]}')?.match).toBeDefined();
  });
});
