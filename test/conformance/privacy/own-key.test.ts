import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { fails, replies } from "#simulator/behaviours.ts";
import { chunk, type StreamScript, streams } from "#simulator/testing/scripted.ts";
import { upstreamKey as key, start, type TestGateway } from "../../harness/gateway.ts";
import { contentOf, readStream } from "../../harness/sse.ts";

/** An upstream knows the gateway's key from every call. Callers must never see it in an answer. */

const mark = "[REDACTED:gateway_upstream_api_key:1]";
const off = { privacy: { redact: false }, budget: { per_goal_hard_usd: 90, per_day_hard_usd: 90 } };
/** A beginning that is no coincidence. */
const telling = key.slice(0, 16);

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

  test("is in no event of a stream, wherever it stands", async () => {
    const call = { index: 0, id: `c-${key}`, type: "function", function: { name: "f", arguments: `{"a":"${key}"}` } };
    const alike = ["say ", "this ", `${key}${key.slice(0, 20)} `, "or "].map((content) => chunk({ content }));
    const { chunks, text, done } = await streamOf([
      // The two halves meet in the first content delta.
      ...[key.slice(0, 9), key.slice(9)].map((reasoning) => chunk({ reasoning })),
      ...alike,
      chunk({ content: "x", note: key }, null, { [key]: 1 }),
      chunk({ tool_calls: [call] }),
      chunk({}, "tool_calls", { system_fingerprint: key }),
    ]);
    expect(done).toBe(true);
    expect(text).not.toContain(telling);
    expect(contentOf(chunks)).toBe(`say this ${mark}${mark} or x`);
    expect(chunks[0].choices[0].delta.reasoning).toBe(mark);
    expect(chunks.find((each) => each.choices[0].delta.tool_calls)?.choices[0].delta.tool_calls).toEqual([
      { index: 0, id: `c-${mark}`, type: "function", function: { name: "f", arguments: `{"a":"${mark}"}` } },
    ]);
  });

  test("does not change other text that begins like the key", async () => {
    const pieces = ["a sk-", "or-", "v1-", "0", "x sk-or-v1-", " sk-or", "-v1-01"];
    const { chunks } = await streamOf([...pieces.map((content) => chunk({ content })), chunk({}, "stop")]);
    expect(contentOf(chunks)).toBe(pieces.join(""));
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
