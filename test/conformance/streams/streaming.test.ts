import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { chunk, type StreamScript, streams, usageChunk } from "#simulator/testing/scripted.ts";
import { type Answer, start, type TestGateway, upstreamIds } from "../../harness/gateway.ts";
import { contentOf, finishReasonsOf, parseStream, type ReadStream, readStream } from "../../harness/sse.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await start();
});
afterAll(() => gateway.stop());

const usage = usageChunk({ input: 10, output: 5, costUsd: 0.00001 });
const contentChunk = (content: string) => chunk({ role: "assistant", content });
const stop = chunk({ content: "" }, "stop");

async function streamed(
  script: StreamScript["events"] | Omit<StreamScript, "gate">,
  body: JsonObject = {},
): Promise<ReadStream> {
  const whole = typeof script === "object" && "events" in script ? script : { events: script };
  gateway.upstream.next(streams(whole));
  const response = await gateway.chat({ stream: true, ...body });
  expect(response.status).toBe(200);
  return readStream(response);
}

describe("the shape of a stream", () => {
  test("is text/event-stream, one chunk per data line, [DONE] last, with the real model's name", async () => {
    const response = await gateway.chat({ stream: true });
    expect(response.headers.get("content-type")).toStartWith("text/event-stream");
    expect(response.headers.get("cache-control")).toContain("no-cache");
    expect(response.headers.get("x-smart-gateway-cause")).toBe("explicit_flash");
    const read = await readStream(response);
    expect(read.done).toBe(true);
    expect(contentOf(read.chunks)).toContain("[simulated]");
    for (const event of read.chunks) {
      expect(event.object).toBe("chat.completion.chunk");
      expect(event.model).toBe(upstreamIds["vendor_v4_flash"]);
      expect(event.id).toBe(read.chunks[0].id);
    }
    expect(finishReasonsOf(read.chunks)).toEqual(["stop"]);
  });

  test("usage is sent only to callers who requested it", async () => {
    const without = await streamed([contentChunk("a"), stop, usage]);
    expect(without.chunks.every((event) => event.choices.length > 0 && event.usage == null)).toBe(true);
    const asked = await streamed([contentChunk("a"), stop, usage], { stream_options: { include_usage: true } });
    expect(asked.chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 15 } });
    const refused = await streamed([contentChunk("a"), stop, usage], { stream_options: { include_usage: false } });
    expect(refused.chunks.some((event) => event.usage != null)).toBe(false);
  });

  const { choices: _, ...usageAlone } = usage;
  const late = { index: 0, delta: { role: "assistant", content: "" }, finish_reason: null };
  test.each([
    ["with a choice after the finish", [stop, { ...usageAlone, choices: [late] }]],
    ["on the finish chunk", [{ ...usageAlone, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }]],
    ["on a chunk whose choices are null", [stop, { ...usageAlone, choices: null }]],
    ["on a chunk that has no choices at all", [stop, usageAlone]],
  ])("usage %s is sent to callers who requested it, without choices, and settles the call", async (_, events) => {
    const before = (await gateway.ledger()).spent;
    const asked = { stream_options: { include_usage: true } };
    const { chunks } = await streamed([contentChunk("a"), ...(events as JsonObject[])], asked);
    const withUsage = chunks.filter((event) => event.usage != null);
    expect(withUsage).toMatchObject([{ choices: [], usage: { total_tokens: 15, cost: 0.00001 } }]);
    expect(finishReasonsOf(chunks)).toEqual(["stop"]);
    await gateway.ledger(({ spent, held }) => held === 0 && spent === before + 10_000);
  });

  test("several choices each have their role, their text and their finish", async () => {
    const choice = (index: number, delta: JsonObject, finish: string | null = null) => ({
      ...chunk({}),
      choices: [{ index, delta, finish_reason: finish }],
    });
    const { chunks, done } = await streamed(
      [
        choice(0, { content: "a" }),
        choice(1, { content: "x" }),
        choice(0, { content: "b" }, "stop"),
        choice(1, { content: "y" }, "length"),
      ],
      { n: 2 },
    );
    expect([contentOf(chunks, 0), contentOf(chunks, 1)]).toEqual(["ab", "xy"]);
    expect(finishReasonsOf(chunks)).toEqual(["stop", "length"]);
    for (const index of [0, 1]) {
      const first = chunks.flatMap((event) => event.choices).find((entry: Answer) => entry.index === index);
      expect(first.delta.role).toBe("assistant");
    }
    expect(done).toBe(true);
  });

  test("bytes that need no change are passed on unchanged", async () => {
    const model = upstreamIds["vendor_v4_flash"] ?? "";
    const odd = `{"id":"gen-1","object":"chat.completion.chunk","created":1,"model":${JSON.stringify(model)},"choices":[{"index":0,"delta":{"role":"assistant","content":"caf\\u00e9","x":1.0e2},"finish_reason":null}], "extra" : [ ]}`;
    const { text } = await streamed([`data: ${odd}\n\n`, chunk({}, "stop", { model })]);
    expect(text).toContain(`data: ${odd}\n\n`);
  });
});

describe("reasoning", () => {
  const reasoningChunk = (reasoning: string) =>
    chunk({
      role: "assistant",
      content: "",
      reasoning,
      reasoning_details: [{ type: "reasoning.text", text: reasoning }],
    });

  test("becomes fields of the first content delta", async () => {
    const { chunks } = await streamed([
      reasoningChunk("first "),
      reasoningChunk("then "),
      contentChunk("answer"),
      chunk({ content: " more" }),
      stop,
    ]);
    expect(chunks[0].choices[0].delta).toEqual({
      role: "assistant",
      content: "answer",
      reasoning: "first then ",
      reasoning_details: [
        { type: "reasoning.text", text: "first " },
        { type: "reasoning.text", text: "then " },
      ],
    });
    expect(chunks[1].choices[0].delta.content).toBe(" more");
  });

  test("is handled under its other name too, with content null beside it", async () => {
    const events = [
      chunk({ content: null, reasoning_content: "why " }),
      chunk({ content: null, reasoning_content: "so: " }),
      contentChunk("answer"),
      stop,
    ];
    const { chunks } = await streamed(events);
    expect(chunks[0].choices[0].delta).toEqual({
      role: "assistant",
      content: "answer",
      reasoning_content: "why so: ",
    });
    expect(contentOf(chunks)).toBe("answer");
  });

  test("becomes one content delta before the finish if no content follows", async () => {
    const { chunks, done } = await streamed([reasoningChunk("only "), reasoningChunk("thoughts"), stop, usage]);
    const deltas = chunks.flatMap((event) => event.choices).filter((choice: Answer) => choice.delta.content);
    expect(deltas.map((choice: Answer) => choice.delta.content)).toEqual(["only thoughts"]);
    expect(deltas[0].delta.role).toBe("assistant");
    expect(finishReasonsOf(chunks)).toEqual(["stop"]);
    expect(done).toBe(true);
  });

  test("is put in front of the text if the policy says `content`, but not if a response format is requested", async () => {
    await using own = await start({ policy: { stream: { reasoning: "content" } } });
    const answer = async (body: JsonObject) => {
      own.upstream.next(streams({ events: [reasoningChunk("why"), contentChunk("{}"), stop] }));
      return (await readStream(await own.chat({ stream: true, ...body }))).chunks;
    };
    expect(contentOf(await answer({}))).toBe("why\n\n{}");
    const formatted = await answer({ response_format: { type: "json_object" } });
    expect(contentOf(formatted)).toBe("{}");
    expect(formatted[0].choices[0].delta.reasoning).toBe("why");
  });

  test("is passed on as it arrives if the policy says `live`", async () => {
    await using own = await start({ policy: { stream: { reasoning: "live" } } });
    own.upstream.next(
      streams({ events: [reasoningChunk("why "), reasoningChunk("so"), contentChunk("answer"), stop] }),
    );
    const { chunks } = await readStream(await own.chat({ stream: true }));
    expect(chunks.flatMap((event) => event.choices[0].delta.reasoning ?? [])).toEqual(["why ", "so"]);
    expect(contentOf(chunks)).toBe("answer");
  });
});

describe("tool calls", () => {
  const call = (fields: JsonObject) =>
    chunk({ role: "assistant", content: null, tool_calls: [{ index: 0, ...fields }] });

  test("are passed on unchanged, fragment by fragment", async () => {
    const fragments = [
      { id: "call_1", type: "function", function: { name: "edit", arguments: "" } },
      { function: { arguments: '{"path": "' } },
      { function: { arguments: 'a.ts"}' } },
    ];
    const { chunks } = await streamed([...fragments.map(call), chunk({}, "tool_calls"), usage]);
    const passed = chunks.flatMap((event) => event.choices).flatMap((choice: Answer) => choice.delta.tool_calls ?? []);
    expect(passed).toEqual(fragments.map((fragment) => ({ index: 0, ...fragment })));
    expect(finishReasonsOf(chunks)).toEqual(["tool_calls"]);
  });

  test("after reasoning: the calls are complete, and the reasoning is not lost", async () => {
    const { chunks } = await streamed([
      chunk({ role: "assistant", content: "", reasoning: "I must edit." }),
      call({ id: "call_1", type: "function", function: { name: "edit", arguments: "{}" } }),
      chunk({}, "tool_calls"),
    ]);
    const passed = chunks.flatMap((event) => event.choices).flatMap((choice: Answer) => choice.delta.tool_calls ?? []);
    expect(passed).toEqual([{ index: 0, id: "call_1", type: "function", function: { name: "edit", arguments: "{}" } }]);
    expect(chunks[0].choices[0].delta).toEqual({ role: "assistant", reasoning: "I must edit." });
    expect(contentOf(chunks)).toBe("");
    expect(finishReasonsOf(chunks)).toEqual(["tool_calls"]);
  });
});

describe("time", () => {
  test("chunks reach the caller as they arrive, not at the end", async () => {
    const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
    gateway.upstream.next(
      streams({ events: [contentChunk("a"), chunk({ content: "b" }), stop], gate: (index) => gates[index]?.promise }),
    );
    gates[0]?.resolve();
    const response = await gateway.chat({ stream: true });
    const seen: string[] = [];
    const read = await readStream(response, (text) => {
      const content = contentOf(parseStream(text).chunks);
      if (content !== seen.at(-1)) seen.push(content);
      if (content === "a") gates[1]?.resolve();
      if (content === "ab") for (const gate of gates) gate.resolve();
    });
    expect(seen).toEqual(["a", "ab"]);
    expect(read.done).toBe(true);
  });

  test("comments are sent while the upstream is silent, before the first event and between tokens", async () => {
    await using patient = await start({ policy: { stream: { keepalive_ms: 30 } } });
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    patient.upstream.next(
      streams({ events: [contentChunk("a"), stop, usage], gate: (index) => gates[index]?.promise }),
    );
    const response = await patient.chat({ stream: true });
    expect(response.status).toBe(200);
    const read = await readStream(response, (text) => {
      const comments = text.split(": keep-alive\n\n").length - 1;
      if (comments >= 2) gates[0]?.resolve();
      if (text.includes('"a"') && text.slice(text.indexOf('"a"')).includes(": keep-alive")) gates[1]?.resolve();
    });
    expect(read.comments.every((comment) => comment === ": keep-alive")).toBe(true);
    expect(contentOf(read.chunks)).toBe("a");
    expect(read.done).toBe(true);
  });
});
