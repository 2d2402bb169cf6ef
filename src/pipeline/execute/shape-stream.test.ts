import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "#domain/chat.ts";
import type { UpstreamEvent } from "#upstream/upstream.ts";
import { type ShapeOptions, StreamShaper } from "./shape-stream.ts";

const model = "vendor/model";
const identity = { id: "chatcmpl-own", created: 7 };

function chunkOf(choice: JsonObject | undefined, extra: JsonObject = {}): UpstreamEvent {
  const chunk: JsonObject = {
    id: "gen-1",
    object: "chat.completion.chunk",
    created: 1,
    model,
    choices: choice === undefined ? [] : [{ index: 0, finish_reason: null, ...choice }],
    ...extra,
  };
  return { kind: "chunk", raw: JSON.stringify(chunk), chunk };
}
const delta = (fields: JsonObject, finish: string | null = null) => chunkOf({ delta: fields, finish_reason: finish });
const end: UpstreamEvent = { kind: "end", report: {} };
const broken: UpstreamEvent = {
  kind: "broken",
  failure: { kind: "cut_off", message: "", dispatched: true },
  report: {},
};

function shaped(events: UpstreamEvent[], options: Partial<ShapeOptions> = {}): string {
  const shaper = new StreamShaper({ model, identity, wantsUsage: false, maxHeldCharacters: 1_000, ...options });
  return events.map((event) => shaper.shape(event)).join("");
}

/** What a caller reads: the parsed chunks, and whether `[DONE]` came last and once. */
function read(text: string): { chunks: Chunk[]; done: boolean } {
  const events = text.split("\n\n").filter((event) => event !== "");
  expect(events.every((event) => event.startsWith("data: ") && !event.includes("\n"))).toBe(true);
  const data = events.map((event) => event.slice("data: ".length));
  const done = data.at(-1) === "[DONE]";
  return { chunks: (done ? data.slice(0, -1) : data).map((line) => JSON.parse(line) as Chunk), done };
}
interface Chunk {
  id: string;
  model: string;
  error?: { code: number; message: string; metadata: { error_type: string } };
  usage?: JsonObject;
  choices: { index: number; delta: JsonObject; finish_reason: string | null }[];
}
const contentOf = (chunks: Chunk[], index = 0) =>
  chunks
    .flatMap((chunk) => chunk.choices.filter((choice) => choice.index === index))
    .map((choice) => choice.delta.content ?? "")
    .join("");
const finishes = (chunks: Chunk[], index = 0) =>
  chunks.flatMap((chunk) =>
    chunk.choices
      .filter((choice) => choice.index === index && choice.finish_reason !== null)
      .map((c) => c.finish_reason),
  );

describe("what a caller of a stream may rely on", () => {
  test("every chunk has an id and a time, ours where the upstream gave none", () => {
    expect(read(shaped([broken])).chunks).toMatchObject([identity]);
    const nameless = chunkOf({ delta: { content: "a" } }, { id: null, created: null });
    expect(read(shaped([nameless, broken])).chunks).toMatchObject([identity, identity]);
    const named = { id: "gen-1", created: 1 };
    expect(read(shaped([delta({ content: "a" }), broken])).chunks).toMatchObject([named, named]);
  });

  test("a chunk that needs no change leaves as the very text it came in", () => {
    const first = delta({ role: "assistant", content: "" });
    const odd =
      '{"id":"gen-1",  "object":"chat.completion.chunk","created":1,"model":"vendor/model","choices":[{"index":0,"delta":{"content":"\\u0041"},"finish_reason":null}]}';
    const out = shaped([first, { kind: "chunk", raw: odd, chunk: JSON.parse(odd) }]);
    expect(out).toContain(`data: ${odd}\n\n`);
  });

  test("the first delta of each choice has the assistant's role, even when the upstream forgot it", () => {
    const { chunks } = read(shaped([delta({ content: "a" }), delta({ content: "b" }), delta({}, "stop"), end]));
    expect(chunks[0]?.choices[0]?.delta.role).toBe("assistant");
    expect(chunks[1]?.choices[0]?.delta.role).toBeUndefined();
  });

  test("reasoning-only deltas are folded into the first content delta, reasoning first", () => {
    const events = [
      delta({ role: "assistant", content: "", reasoning: "Let me " }),
      delta({ reasoning: "think." }),
      delta({ content: " So: 4" }),
      delta({ content: "2" }),
      delta({}, "stop"),
      end,
    ];
    const { chunks, done } = read(shaped(events));
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: "assistant", content: "Let me think. So: 4" });
    expect(contentOf(chunks)).toBe("Let me think. So: 42");
    expect(done).toBe(true);
  });

  test("both names of the reasoning field count", () => {
    const { chunks } = read(
      shaped([delta({ reasoning_content: "Hm. " }), delta({ content: "Yes" }), delta({}, "stop"), end]),
    );
    expect(contentOf(chunks)).toBe("Hm. Yes");
  });

  test("reasoning without content becomes one content delta before the finish", () => {
    const { chunks } = read(shaped([delta({ reasoning: "a" }), delta({ reasoning: "b" }), delta({}, "stop"), end]));
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content)).toEqual(["ab", undefined]);
    expect(finishes(chunks)).toEqual(["stop"]);
  });

  test("reasoning beyond the bound is let go as content instead of being held for ever", () => {
    const { chunks } = read(shaped([delta({ reasoning: "x".repeat(11) })], { maxHeldCharacters: 10 }));
    expect(contentOf(chunks)).toBe("x".repeat(11));
  });

  test("tool-call deltas pass untouched", () => {
    const first = delta({
      role: "assistant",
      content: null,
      tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "f", arguments: "" } }],
    });
    const next = delta({ tool_calls: [{ index: 0, function: { arguments: '{"a":' } }] });
    const out = shaped([first, next]);
    for (const event of [first, next]) expect(out).toContain(event.kind === "chunk" ? event.raw : "never");
  });

  test("exactly one finish reason per choice", () => {
    const { chunks } = read(
      shaped([delta({ content: "a" }), delta({}, "stop"), delta({}, "stop"), delta({}, "length"), end]),
    );
    expect(finishes(chunks)).toEqual(["stop"]);
  });

  test("the usage chunk reaches only callers who asked for it", () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
    const events = () => [delta({ content: "a" }), delta({}, "stop"), chunkOf(undefined, { usage }), end];
    expect(shaped(events())).not.toContain("usage");
    const { chunks } = read(shaped(events(), { wantsUsage: true }));
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage });
  });

  test("usage on a chunk with choices is taken out for callers who did not ask", () => {
    const event = chunkOf({ delta: {}, finish_reason: "stop" }, { usage: { total_tokens: 3 } });
    expect(shaped([event])).not.toContain("usage");
  });

  test("every chunk names the real model, whatever the upstream wrote", () => {
    const { chunks } = read(shaped([chunkOf({ delta: { content: "a" } }, { model: "other" })]));
    expect(chunks[0]?.model).toBe(model);
  });

  test("a broken stream ends in an error chunk and [DONE], never in a clean finish", () => {
    const { chunks, done } = read(shaped([delta({ content: "half" }), broken]));
    const last = chunks.at(-1);
    expect(last?.error).toMatchObject({ code: 502, metadata: { error_type: "cut_off" } });
    expect(last?.choices).toEqual([{ index: 0, delta: { content: "" }, finish_reason: "error" }]);
    expect(done).toBe(true);
  });

  test("reasoning held when the stream breaks is not lost", () => {
    const { chunks } = read(shaped([delta({ reasoning: "so far" }), broken]));
    expect(contentOf(chunks)).toBe("so far");
  });

  test("what breaks after the last finish reason does not spoil a whole answer", () => {
    const { chunks, done } = read(shaped([delta({ content: "a" }), delta({}, "stop"), broken]));
    expect(chunks.some((chunk) => chunk.error !== undefined)).toBe(false);
    expect(done).toBe(true);
  });

  test("choices are told apart", () => {
    const at = (index: number, fields: JsonObject, finish: string | null = null) =>
      chunkOf({ index, delta: fields, finish_reason: finish });
    const events = [
      at(0, { reasoning: "r0" }),
      at(1, { content: "c1" }),
      at(0, { content: "c0" }),
      at(1, {}, "stop"),
      at(0, {}, "length"),
      end,
    ];
    const { chunks } = read(shaped(events));
    expect([contentOf(chunks, 0), contentOf(chunks, 1)]).toEqual(["r0c0", "c1"]);
    expect([finishes(chunks, 0), finishes(chunks, 1)]).toEqual([["length"], ["stop"]]);
  });

  test("whatever mixture of deltas comes: no text is lost, one role, one finish, one [DONE]", () => {
    const piece = fc.oneof(
      fc.record({ content: fc.string() }),
      fc.record({ reasoning: fc.string() }),
      fc.record({ reasoning: fc.string(), content: fc.string() }),
      fc.constant<JsonObject>({ role: "assistant", content: "" }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.boolean(), (pieces, breaks) => {
        const events = [
          ...pieces.map((fields) => delta({ ...fields })),
          ...(breaks ? [broken] : [delta({}, "stop"), end]),
        ];
        const { chunks, done } = read(shaped(events, { maxHeldCharacters: 1_000_000 }));
        const contents = pieces.map((fields) => ("content" in fields ? fields.content : "")).join("");
        const firstContent = pieces.findIndex((fields) => "content" in fields && fields.content !== "");
        const early = firstContent === -1 ? pieces : pieces.slice(0, firstContent + 1);
        const reasoning = early.map((fields) => ("reasoning" in fields ? fields.reasoning : "")).join("");
        expect(contentOf(chunks)).toBe(reasoning + contents);
        expect(finishes(chunks)).toEqual([breaks ? "error" : "stop"]);
        expect(done).toBe(true);
        const roles = chunks.flatMap((chunk) => chunk.choices.filter((choice) => choice.delta.role !== undefined));
        if (!breaks) expect(roles.length).toBeGreaterThanOrEqual(1);
      }),
    );
  });
});
