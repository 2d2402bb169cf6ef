import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { replies } from "#simulator/behaviours.ts";
import type { Behaviour } from "#simulator/simulated-exchange.ts";
import { chunk, streams } from "#simulator/testing/scripted.ts";
import { eventually, start } from "../../harness/gateway.ts";

/** What an answer that never ends well is charged: an upstream bills what it has written, whatever it says afterwards. */

// Flash: 0.28 USD per million output tokens. 1,000 tokens are 0.00028 USD, and a little for the prompt.
const bound = { max_tokens: 1_000 };
const [leastHold, mostHold] = [280_000, 400_000];
const policy = { upstream: { max_attempts: 1 } };

const limited = { error: { code: 429, message: "the provider is overloaded" } };
const counted = (output: number, more: JsonObject = {}) => ({
  usage: { prompt_tokens: 10, completion_tokens: output, total_tokens: 10 + output, ...more },
});

describe("an error that names a 4xx status", () => {
  const choice = (more: JsonObject): JsonObject => ({
    id: "gen-1",
    choices: [{ index: 0, message: { role: "assistant", content: "half an answer" }, finish_reason: "error", ...more }],
  });
  const rows: [what: string, stream: boolean, behaviour: Behaviour][] = [
    ["in a stream, after content", true, streams({ events: [chunk({ content: "half" }), limited] })],
    ["in a stream, after reasoning", true, streams({ events: [chunk({ reasoning: "hm" }), limited] })],
    [
      "in a chunk that has content too",
      true,
      streams({ events: [{ ...chunk({ content: "half" }), ...limited }], end: "clean" }),
    ],
    ["in a choice with a message", false, replies(200, choice(limited))],
    ["beside choices with a message", false, replies(200, { ...choice({}), ...limited })],
  ];
  test.each(rows)("does not release the hold of what was answered before it: %s", async (_, stream, behaviour) => {
    await using gateway = await start({ policy, script: () => behaviour });
    await (await gateway.chat({ ...bound, stream })).text();
    const { held, spent } = await gateway.ledger(({ held, spent }) => held + spent >= leastHold);
    expect(held).toBeWithin(leastHold, mostHold);
    expect(spent).toBe(0);
  });

  test.each([
    ["a stream", true, streams({ events: [chunk({ role: "assistant", content: "" }), limited] })],
    ["a whole answer", false, replies(200, limited)],
  ] as [string, boolean, Behaviour][])("releases it where nothing came before: %s", async (_, stream, behaviour) => {
    await using gateway = await start({ policy, script: () => behaviour });
    expect((await gateway.chat({ ...bound, stream })).status).toBe(500);
    expect(await gateway.ledger()).toEqual({ held: 0, spent: 0 });
  });
});

describe("usage that is counted along in every chunk", () => {
  const events = [1, 2, 3].map((count) => ({ ...chunk({ content: "word " }), ...counted(count) }));

  test("is no cost of a stream that breaks off: the hold stays", async () => {
    await using gateway = await start({ policy, script: () => streams({ events, end: "rst" }) });
    await (await gateway.chat({ ...bound, stream: true })).text();
    const { held, spent } = await gateway.ledger(({ held, spent }) => held === 0 || spent > 0 || held >= leastHold);
    expect([spent, held >= leastHold]).toEqual([0, true]);
  });

  test("is not what a caller pays who disconnects: the hold is charged", async () => {
    await using gateway = await start({ policy, script: () => streams({ events, end: "silence" }) });
    const stop = new AbortController();
    const reply = await gateway.chat({ ...bound, stream: true }, {}, { signal: stop.signal });
    await reply.body?.getReader().read();
    stop.abort();
    await eventually(async () => (await gateway.ledger()).spent > 0);
    expect((await gateway.ledger()).spent).toBeWithin(leastHold, mostHold);
  });

  test("is the least that a caller pays who disconnects where cancelling stops the billing", async () => {
    const many = { ...chunk({ content: "a" }), ...counted(900) };
    await using gateway = await start({
      policy: { upstream: { ...policy.upstream, billing_stops_on_cancel: true } },
      script: () => streams({ events: [many], end: "silence" }),
    });
    const stop = new AbortController();
    const reply = await gateway.chat({ ...bound, stream: true }, {}, { signal: stop.signal });
    await reply.body?.getReader().read();
    stop.abort();
    await eventually(async () => (await gateway.ledger()).spent > 0);
    // 900 tokens of output and 10 of input: the bytes that were seen are fewer.
    expect((await gateway.ledger()).spent).toBe(900 * 280 + 10 * 140);
  });

  test("settles a stream that ends", async () => {
    const whole = [...events, { ...chunk({}, "stop"), ...counted(4) }];
    await using gateway = await start({ policy, script: () => streams({ events: whole }) });
    await (await gateway.chat({ ...bound, stream: true })).text();
    expect((await gateway.ledger()).spent).toBe(4 * 280 + 10 * 140);
  });

  test("an earlier cost does not belong to a later count", async () => {
    const early = { ...chunk({ content: "a" }), ...counted(1, { cost: 0.000001 }) };
    const last = { ...chunk({}, "stop"), ...counted(500) };
    await using gateway = await start({ policy, script: () => streams({ events: [early, last] }) });
    await (await gateway.chat({ ...bound, stream: true })).text();
    expect((await gateway.ledger()).spent).toBe(500 * 280 + 10 * 140);
  });
});

describe("a second usage in a stream", () => {
  const text = chunk({ content: "words" });
  const stop = chunk({}, "stop");
  const stated = { ...chunk({}), choices: [], ...counted(500, { cost: 0.0002 }) };
  const zero = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  test.each([
    ["with a smaller cost", { usage: { ...counted(500).usage, cost: 0.0000001 } }, 200_000],
    ["with a larger cost", { usage: { ...counted(500).usage, cost: 0.0003 } }, 300_000],
    ["of zeros", { usage: { ...zero, cost: 0 } }, 200_000],
    ["of zeros without a cost", { usage: zero }, 200_000],
    ["with the same counts and no cost", counted(500), 200_000],
    ["with higher counts and no cost", counted(900), 900 * 280 + 10 * 140],
    ["that is null", { usage: null }, 200_000],
  ] as [string, JsonObject, number][])("never makes the call cheaper: one %s", async (_, last, cost) => {
    const events = [text, stop, stated, { ...chunk({}), choices: [], ...last }];
    await using gateway = await start({ policy, script: () => streams({ events }) });
    await (await gateway.chat({ ...bound, stream: true })).text();
    expect((await gateway.ledger()).spent).toBe(cost);
  });

  test("that is defective leaves the hold to be charged", async () => {
    const events = [text, stop, stated, { ...chunk({}), choices: [], ...counted(500, { cost: -1 }) }];
    await using gateway = await start({ policy, script: () => streams({ events }) });
    await (await gateway.chat({ ...bound, stream: true })).text();
    expect((await gateway.ledger()).spent).toBeWithin(leastHold, mostHold);
  });
});

describe("usage after the last output", () => {
  const events = [chunk({ content: "half" }), { ...chunk({ content: "" }), ...counted(7) }];

  test("settles a stream that breaks off before its finish reason", async () => {
    await using gateway = await start({ policy, script: () => streams({ events, end: "rst" }) });
    await (await gateway.chat({ ...bound, stream: true })).text();
    await eventually(async () => (await gateway.ledger()).spent > 0);
    expect(await gateway.ledger()).toEqual({ held: 0, spent: 7 * 280 + 10 * 140 });
  });

  test("does not settle it if more output follows", async () => {
    const more = [...events, chunk({ content: "more" }), chunk({ content: "and more" })];
    await using gateway = await start({ policy, script: () => streams({ events: more, end: "rst" }) });
    await (await gateway.chat({ ...bound, stream: true })).text();
    const { held, spent } = await gateway.ledger(({ held, spent }) => held === 0 || spent > 0 || held >= leastHold);
    expect([spent, held >= leastHold]).toEqual([0, true]);
  });
});

test("usage before any output does not settle a stream that breaks off", async () => {
  const opening = { ...chunk({ role: "assistant", content: "" }), ...counted(0) };
  await using gateway = await start({ policy, script: () => streams({ events: [opening], end: "rst" }) });
  await (await gateway.chat({ ...bound, stream: true })).text();
  const { held, spent } = await gateway.ledger(({ held, spent }) => held === 0 || spent > 0 || held >= leastHold);
  expect([spent, held >= leastHold]).toEqual([0, true]);
});

test("usage in the event that says why the stream failed settles it", async () => {
  const last = { ...limited, ...counted(7) };
  await using gateway = await start({
    policy,
    script: () => streams({ events: [chunk({ content: "half" }), last], end: "clean" }),
  });
  await (await gateway.chat({ ...bound, stream: true })).text();
  await eventually(async () => (await gateway.ledger()).spent > 0);
  expect(await gateway.ledger()).toEqual({ held: 0, spent: 7 * 280 + 10 * 140 });
});
