import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type ShapeOptions, StreamShaper } from "#pipeline/respond/stream/shape-stream.ts";
import { SseReader } from "#upstream/stream/sse-reader.ts";
import { StreamValidator } from "#upstream/stream/stream-validator.ts";
import type { ChunkEvent, ChunkRun } from "#upstream/upstream.ts";

/** One event of a stream as it is sent. */
const event = (delta: object, more: object = {}, choice: object = {}) =>
  `data: ${JSON.stringify({ id: "gen-1", object: "chat.completion.chunk", created: 1, model: "vendor/model", choices: [{ index: 0, delta, finish_reason: null, ...choice }], ...more })}\n\n`;

/** Events of a stream in which most are alike. */
function anyEvent(content: fc.Arbitrary<string> = fc.string({ unit: "binary", maxLength: 6 })): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 8, arbitrary: content.map((text) => event({ content: text })) },
    { weight: 4, arbitrary: content.map((text) => event({ role: "assistant", content: text })) },
    { weight: 3, arbitrary: content.map((text) => event({ content: text }, { model: "vendor/model-20250101" })) },
    { weight: 3, arbitrary: content.map((text) => event({ content: text }, { model: "other/model" })) },
    content.map((text) => event({ content: text }, { id: null })),
    content.map((text) => event({ content: text, reasoning: "hm " })),
    content.map((text) => event({ content: "", reasoning: text })),
    content.map((text) => event({ reasoning_content: text, reasoning_details: [{ type: "reasoning.text", text }] })),
    content.map((text) => event({ content: text }, {}, { index: 1 })),
    content.map((text) => event({ content: text }, { usage: { prompt_tokens: 1, completion_tokens: 2 } })),
    fc.constantFrom(
      event({}, {}, { finish_reason: "stop" }),
      event({ content: "end" }, {}, { finish_reason: "stop" }),
      event({ tool_calls: [{ index: 0, function: { arguments: "{" } }] }),
      event({ content: "x" }, { error: { message: "no", code: 502 } }),
      ": comment\n\n",
      "data: {\n\n",
    ),
  );
}

/** Doubles each letter and holds the last one back, like a restorer that holds back a possible half of a placeholder. */
function doubling() {
  let kept = "";
  return {
    push(text: string) {
      const all = kept + text;
      kept = all.slice(-1);
      return all.slice(0, -1).replace(/./gsu, "$&$&");
    },
    flush: () => kept,
  };
}

/** The caller's view of a stream, with or without the shortcut, and how many chunks were not parsed. */
function answer(pieces: readonly string[], shortcut: boolean, options: Partial<ShapeOptions>) {
  const validator = new StreamValidator({ maxValues: 1_000, maxEventBytes: 100_000 });
  const shaper = new StreamShaper({
    model: "vendor/model",
    identity: { id: "chatcmpl-own", created: 7 },
    wantsUsage: false,
    reasoning: "field",
    maxHeldCharacters: 20,
    ...options,
  });
  let out = "";
  let spared = 0;
  let failed = false;
  const take = (chunk: ChunkEvent | ChunkRun) => {
    out += shaper.shape(chunk);
  };
  const known = (text: string, from: number, until: number) => {
    const run = failed ? undefined : validator.matchTemplate(text, from, until);
    if (run === undefined) return from;
    spared += run.contentEnds.length;
    take(run);
    return from + run.events.length;
  };
  const reader = new SseReader(100_000, shortcut ? known : undefined);
  for (const piece of pieces) {
    reader.push(piece, (data, name) => {
      if (failed) return;
      const validated = validator.validate(data, name);
      if (validated.kind === "chunk") take(validated);
      if (validated.kind !== "failed") return;
      failed = true;
      out += shaper.shape({ kind: "broken", failure: validated.failure, report: validator.report });
    });
  }
  const { report, finishes, isEmpty } = validator;
  if (!failed) out += shaper.shape({ kind: "end", report, finishes, isEmpty });
  const { complete, hasContent } = validator;
  const events = out.split("\n\n").map((event) => (event.startsWith("data: {") ? JSON.parse(event.slice(6)) : event));
  return { out, events, spared, standing: { complete, hasContent, finishes, isEmpty, report } };
}

describe("a chunk that matches those before it", () => {
  test("is sent as it would be if it had been parsed", () => {
    fc.assert(
      fc.property(
        fc.array(anyEvent(), { maxLength: 30 }),
        fc.array(fc.nat(), { maxLength: 6 }),
        fc.boolean(),
        fc.constantFrom(0, 20),
        fc.constantFrom("field", "content", "live"),
        fc.boolean(),
        (events, cuts, restoring, maxHeldCharacters, reasoning, wantsUsage) => {
          const text = events.join("");
          const at = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
          const pieces = at.slice(1).map((to, index) => text.slice(at[index], to));
          const options = {
            maxHeldCharacters,
            reasoning,
            wantsUsage,
            ...(restoring ? { restore: { stream: doubling } } : {}),
          };
          const quick = answer(pieces, true, options);
          const plain = answer(pieces, false, options);
          expect(quick.events).toEqual(plain.events);
          expect(quick.standing).toEqual(plain.standing);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
