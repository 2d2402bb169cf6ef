import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { fails, replies } from "#simulator/behaviours.ts";
import { chunk, type StreamScript, streams } from "#simulator/testing/scripted.ts";
import { type Answer, upstreamKey as key, start, type TestGateway } from "../../harness/gateway.ts";
import { readStream } from "../../harness/sse.ts";

/** An upstream knows the gateway's key from every call. Callers must never see it in an answer. */

const mark = "[REDACTED:gateway_upstream_api_key:1]";
const longTests = process.env["SMART_GATEWAY_LONG_TESTS"] === "1";
const off = { privacy: { redact: false }, budget: { per_goal_hard_usd: 90, per_day_hard_usd: 90 } };
const call = (index: number, more: JsonObject) => ({ index, ...more });
/** A short beginning of the key may have been sent before the rest arrived. */
const telling = key.slice(0, 16);

/** The joined texts of a stream's deltas, by their positions. */
function textsOf(chunks: readonly Answer[]): Map<string, string> {
  const texts = new Map<string, string>();
  const add = (place: string, text: unknown) => {
    if (typeof text === "string") texts.set(place, (texts.get(place) ?? "") + text);
  };
  for (const { choices } of chunks) {
    for (const { index, delta } of choices) {
      for (const name of ["content", "reasoning", "refusal"]) add(`${index} ${name}`, delta[name]);
      for (const each of delta.tool_calls ?? []) add(`${index} call ${each.index}`, each.function?.arguments);
    }
  }
  return texts;
}

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await start({ policy: off });
});
afterAll(() => gateway.stop());

/** A whole answer of this message. */
const whole = (message: JsonObject, more: JsonObject = {}) =>
  replies(200, {
    id: "gen-1",
    choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", ...message } }],
    ...more,
  });
const streamOf = async (events: JsonObject[], end: StreamScript["end"] = "done") => {
  gateway.upstream.next(streams({ events, end }));
  return readStream(await gateway.chat({ stream: true }));
};

describe("the gateway's own upstream key", () => {
  const restored = { privacy: { restore: "text", disabled_rules: ["gateway_upstream_api_key"] } };
  test.each([{}, off, restored])("is in no place of a whole answer (policy %p)", async (policy) => {
    await using own = await start({ policy });
    const tool_calls = [{ id: "c", type: "function", function: { name: "f", arguments: JSON.stringify({ a: key }) } }];
    const content = `It is Bearer ${key}, and ${key}${key}; cut off: ${key.slice(0, 30)}`;
    own.upstream.next(whole({ content, reasoning: key, tool_calls }, { id: `gen-${key}`, [key]: 1 }));
    const text = await (await own.chat()).text();
    expect(text).not.toContain(telling);
    const { message } = JSON.parse(text).choices[0];
    expect(message.content).toBe(`It is Bearer ${mark}, and ${mark}${mark}; cut off: ${mark}`);
    expect(JSON.parse(message.tool_calls[0].function.arguments)).toEqual({ a: mark });
  });

  test("is in no stream, in text, reasoning or arguments, wherever it is split", async () => {
    const opens = (index: number, name: string, text: string) =>
      chunk({ tool_calls: [call(index, { id: `c${index}`, type: "function", function: { name, arguments: text } })] });
    const args = (index: number, text: string) =>
      chunk({ tool_calls: [call(index, { function: { arguments: text } })] });
    const offsets = Array.from({ length: key.length + 1 }, (_, at) => at);
    const some = (at: number) => at < 6 || at > key.length - 3 || at % 12 === 0;
    for (const at of offsets.filter((each) => longTests || some(each))) {
      const cuts = at < key.length ? [key.slice(0, at), key.slice(at)] : [...key];
      const { chunks, text, done } = await streamOf([
        chunk({ role: "assistant", reasoning: "think " }),
        ...cuts.map((reasoning) => chunk({ reasoning })),
        ...["say ", "this ", ...cuts, " end\n", "or "].map((content) => chunk({ content })),
        opens(0, "f", '{"a":"'),
        opens(1, "g", '{"b":"'),
        ...[1, 0].flatMap((index) => cuts.map((text) => args(index, text))),
        args(0, '"}'),
        args(1, '"}'),
        chunk({}, "tool_calls"),
      ]);
      expect(done).toBe(true);
      const texts = textsOf(chunks);
      for (const each of [...texts.values(), text]) expect(each).not.toContain(telling);
      expect([...texts.keys()].sort()).toEqual(["0 call 0", "0 call 1", "0 content", "0 reasoning"]);
      // Fewer than four characters of a beginning are not held back.
      const given = at === 0 || at > 3 ? (at > key.length - 1 ? key.slice(0, 3) : "") : key.slice(0, at);
      expect(texts.get("0 content")).toBe(`say this ${given}${mark} end\nor `);
      expect(texts.get("0 reasoning")).toBe(`think ${given}${mark}`);
      expect(texts.get("0 call 0")).toBe(`{"a":"${given}${mark}"}`);
      expect(texts.get("0 call 1")).toBe(`{"b":"${given}${mark}"}`);
    }
  });

  test("does not change other text that begins like the key, nor text at the end of a stream", async () => {
    const pieces = ["a sk-", "or-", "v1-", "0", "x sk-or-v1-", " sk-or", "-v1-01"];
    const texts = pieces.map((content) => chunk({ content }));
    const called = chunk({ tool_calls: [call(0, { function: { name: "f", arguments: "sk-or-v1" } })] });
    for (const more of [[called, chunk({}, "stop")], []]) {
      const said = textsOf((await streamOf([...texts, ...more])).chunks);
      expect(said.get("0 content")).toBe(pieces.join(""));
      expect(said.get("0 call 0")).toBe(more.length === 0 ? undefined : "sk-or-v1");
    }
  });

  test("is in no error, before the stream or in it, nor in the log", async () => {
    const message = `Invalid key ${key} (${key.slice(0, 40)}`;
    for (const stream of [false, true]) {
      gateway.upstream.next(fails(400, message));
      const text = await (await gateway.chat({ stream })).text();
      expect(text).toContain(`Invalid key ${mark} (${mark}`);
      expect(text).not.toContain(telling);
    }
    const { text } = await streamOf([chunk({ content: "x" }), { error: { code: 500, message } }], "fin");
    expect(text).toContain("error");
    expect(text + JSON.stringify(gateway.log)).not.toContain(telling);
  });
});
