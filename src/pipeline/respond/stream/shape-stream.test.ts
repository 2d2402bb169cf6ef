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
const endOf = (reason: "stop" | "tool_calls"): UpstreamEvent => ({
  kind: "end",
  report: {},
  finishes: new Map([[0, reason]]),
  isEmpty: false,
});
const end = endOf("stop");
const broken: UpstreamEvent = {
  kind: "broken",
  failure: { kind: "cut_off", message: "", dispatched: true },
  report: {},
};

function shaped(events: UpstreamEvent[], options: Partial<ShapeOptions> = {}): string {
  const shaper = new StreamShaper({
    model,
    identity,
    wantsUsage: false,
    reasoning: "field",
    maxHeldCharacters: 1_000,
    ...options,
  });
  return events.map((event) => shaper.shape(event)).join("");
}

/** The caller's view: the parsed chunks, and whether `[DONE]` came last and once. */
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

describe("what a caller of a stream can rely on", () => {
  test("every chunk has an id and a time, the gateway's if the upstream gave none", () => {
    expect(read(shaped([broken])).chunks).toMatchObject([identity]);
    const nameless = chunkOf({ delta: { content: "a" } }, { id: null, created: null });
    expect(read(shaped([nameless, broken])).chunks).toMatchObject([identity, identity]);
    const named = { id: "gen-1", created: 1 };
    expect(read(shaped([delta({ content: "a" }), broken])).chunks).toMatchObject([named, named]);
  });

  const deltasOf = (events: UpstreamEvent[], options: Partial<ShapeOptions> = {}) =>
    read(shaped(events, options)).chunks.flatMap((chunk) => chunk.choices.map((choice) => choice.delta));
  const call = { index: 0, id: "call_1", type: "function", function: { name: "f", arguments: "{}" } };
  const stop = () => delta({}, "stop");

  test("reasoning without text, such as encrypted reasoning, is held too", () => {
    const encrypted = { type: "reasoning.encrypted", data: "x" };
    const events = [delta({ reasoning_details: [encrypted] }), delta({ content: "a" }), stop(), end];
    expect(deltasOf(events)[0]).toEqual({ role: "assistant", content: "a", reasoning_details: [encrypted] });
    expect(deltasOf([delta({ reasoning_details: [encrypted] }), stop(), end])[0]).toEqual({
      role: "assistant",
      reasoning_details: [encrypted],
    });
  });

  test("reasoning after a tool call never becomes text of the answer", () => {
    const events = [delta({ tool_calls: [call] }), delta({ reasoning: "done" }), delta({}, "tool_calls"), end];
    expect(deltasOf(events)).toEqual([{ role: "assistant", tool_calls: [call] }, { reasoning: "done" }, {}]);
  });

  test("reasoning before a refusal never becomes text of the answer", () => {
    const events = [delta({ reasoning: "hm" }), delta({ refusal: "No." }), stop(), end];
    expect(deltasOf(events)).toEqual([{ role: "assistant", reasoning: "hm" }, { refusal: "No." }, {}]);
  });

  test("reasoning beyond the bound is sent as a separate delta", () => {
    const long = "x".repeat(11);
    const bound = { maxHeldCharacters: 10 };
    expect(deltasOf([delta({ reasoning: long })], bound)).toEqual([{ role: "assistant", reasoning: long }]);
    // Its beginning was sent as reasoning, so its end is not an answer either.
    expect(deltasOf([delta({ reasoning: long }), delta({ reasoning: "end" }), stop(), end], bound)).toEqual([
      { role: "assistant", reasoning: long },
      { reasoning: "end" },
      {},
    ]);
    const details = [{ type: "reasoning.encrypted", data: long }];
    expect(deltasOf([delta({ reasoning_details: details })], bound)).toEqual([
      { role: "assistant", reasoning_details: details },
    ]);
  });

  test("every chunk names the model that the upstream says has answered, also those that the gateway adds", () => {
    const { chunks } = read(
      shaped([
        chunkOf({ delta: { reasoning: "hm" } }, { model: "other/model" }),
        chunkOf({ delta: { content: "a" } }, { model: "other/model" }),
        chunkOf({ delta: {}, finish_reason: "stop" }, { model: undefined as never }),
      ]),
    );
    expect(chunks.map((chunk) => chunk.model)).toEqual(chunks.map(() => "other/model"));
  });

  test("for any mixture of deltas no text is lost, with one role, one finish, one [DONE]", () => {
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
        const all = (name: "content" | "reasoning") =>
          pieces.map((fields) => (name in fields ? (fields as { [key: string]: string })[name] : "")).join("");
        const reasoning = chunks.map((chunk) => chunk.choices[0]?.delta.reasoning ?? "").join("");
        // Reasoning is the answer only if there is no other.
        const isAnswer = !breaks && all("content") === "";
        expect(contentOf(chunks)).toBe(isAnswer ? all("reasoning") : all("content"));
        expect(reasoning).toBe(isAnswer ? "" : all("reasoning"));
        expect(finishes(chunks)).toEqual([breaks ? "error" : "stop"]);
        expect(done).toBe(true);
        const roles = chunks.flatMap((chunk) => chunk.choices.filter((choice) => choice.delta.role !== undefined));
        if (!breaks) expect(roles.length).toBeGreaterThanOrEqual(1);
      }),
    );
  });
});
