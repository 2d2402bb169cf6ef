import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { replies } from "#simulator/behaviours.ts";
import type { Behaviour } from "#simulator/simulated-exchange.ts";
import { chunk, silent, streams, writesRaw } from "#simulator/testing/scripted.ts";
import { eventually, start } from "../../harness/gateway.ts";

/** What an answer that never ends well is charged: an upstream bills what it has written, whatever it says afterwards. */

// Flash: 0.14 USD per million input tokens and 0.28 per million output tokens. 1,000 tokens of output are 0.00028 USD, and a
// little for the prompt.
const bound = { max_tokens: 1_000 };
const [leastHold, mostHold] = [280_000, 400_000];
const policy = { upstream: { max_attempts: 1 } };
const tokens = (output: number) => output * 280 + 10 * 140;

const limited = { error: { code: 429, message: "the provider is overloaded" } };
const counted = (output: number, more: JsonObject = {}) => ({
  usage: { prompt_tokens: 10, completion_tokens: output, total_tokens: 10 + output, ...more },
});
const text = chunk({ content: "half" });
const stop = chunk({}, "stop");
const empty = chunk({ role: "assistant", content: "" });
const last = (more: JsonObject) => ({ ...chunk({}), choices: [], ...more });
const choice = (more: JsonObject): JsonObject => ({
  id: "gen-1",
  choices: [{ index: 0, message: { role: "assistant", content: "half an answer" }, finish_reason: "error", ...more }],
});
const counting = [1, 2, 3].map((count) => ({ ...chunk({ content: "word " }), ...counted(count) }));
const breaks = (...events: JsonObject[]) => streams({ events, end: "rst" });
const ends = (...events: JsonObject[]) => streams({ events, end: "clean" });
/** A whole stream that has stated its usage, and states another one. */
const twice = (second: JsonObject) =>
  streams({ events: [text, stop, last(counted(500, { cost: 0.0002 })), last(second)] });
const call = chunk({ tool_calls: [{ index: 0, id: "c", type: "function", function: { name: "f", arguments: "{}" } }] });
const inChoice = (output: number) => ({ choices: [{ index: 0, delta: { content: "a" }, ...counted(output) }] });
const pair = { choices: [0, 1].map((index) => ({ index, delta: { content: "a" } })) };
const finished = (index: number) => ({ index, delta: {}, finish_reason: "stop", ...counted(7) });
/** Lets the packet before an event go out. */
const gate = () => new Promise((resolve) => setImmediate(resolve));
const zero = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/** What a goal is left with: exactly so much spent and nothing held, or the hold held (`held`) or charged (`charged`). */
const rows: [what: string, behaviour: Behaviour, outcome: number | "held" | "charged", stream?: boolean][] = [
  // An error that names a 4xx status does not release the hold of what was answered before it.
  ["a 429 in a stream, after content", streams({ events: [text, limited] }), "held"],
  ["a 429 in a stream, after reasoning", streams({ events: [chunk({ reasoning: "hm" }), limited] }), "held"],
  ["a 429 in a chunk that has content too", ends({ ...text, ...limited }), "held"],
  ["a 429 in a choice with a message", replies(200, choice(limited)), "held", false],
  ["a 429 beside choices with a message", replies(200, { ...choice({}), ...limited }), "held", false],
  ["a 429 in a stream, before any output", streams({ events: [empty, limited] }), 0],
  ["a 429 in a whole answer", replies(200, limited), 0, false],
  // Usage that is counted along in every chunk.
  ["counts along the way of a stream that breaks off", breaks(...counting), "held"],
  [
    "counts along the way of a stream that ends",
    streams({ events: [...counting, { ...stop, ...counted(4) }] }),
    tokens(4),
  ],
  [
    "an earlier cost, which does not belong to a later count",
    streams({
      events: [
        { ...text, ...counted(1, { cost: 0.000001 }) },
        { ...stop, ...counted(500) },
      ],
    }),
    tokens(500),
  ],
  // A second usage never makes the call cheaper.
  ["a second usage with a smaller cost", twice(counted(500, { cost: 0.0000001 })), 200_000],
  ["a second usage with a larger cost", twice(counted(500, { cost: 0.0003 })), 300_000],
  ["a second usage of zeros", twice({ usage: { ...zero, cost: 0 } }), 200_000],
  ["a second usage of zeros without a cost", twice({ usage: zero }), 200_000],
  ["a second usage with the same counts and no cost", twice(counted(500)), 200_000],
  ["a second usage with higher counts and no cost", twice(counted(900)), tokens(900)],
  ["a second usage that is null", twice({ usage: null }), 200_000],
  ["a second usage that is empty", twice({ usage: {} }), 200_000],
  ["a second usage without a count", twice({ usage: { prompt_tokens: "many" } }), 200_000],
  ["a second usage that is defective", twice(counted(500, { cost: -1 })), "charged"],
  // A figure that output follows is an interim one, also in a stream that ends well.
  ["usage before all output", ends({ ...empty, ...counted(0) }, text, text, stop), "charged"],
  ["usage and a cost before all output", ends({ ...empty, ...counted(1, { cost: 0.00001 }) }, text, stop), "charged"],
  ["usage before the last output", ends(text, { ...empty, ...counted(7) }, ...Array(20).fill(text), stop), "charged"],
  ["usage before a tool call", ends(text, { ...empty, ...counted(7) }, call, stop), "charged"],
  ["usage of a choice before its last output", ends({ ...text, ...inChoice(7) }, text, stop), "charged"],
  ["usage with the last output", ends(text, { ...text, ...counted(7) }, stop), tokens(7)],
  [
    "usage with the finish reason and output",
    ends(text, { ...chunk({ content: "x" }, "stop"), ...counted(7) }),
    tokens(7),
  ],
  [
    "a count above the hold before the last output",
    ends(text, { ...empty, ...counted(9_000) }, text, stop),
    tokens(9_000),
  ],
  ["a count of no output behind some", ends(text, stop, last(counted(0))), "charged"],
  ["usage of two choices, each of its own", ends(pair, { choices: [0, 1].map(finished) }), "charged"],
  [
    "usage behind [DONE]",
    streams({ events: [text, stop, "data: [DONE]\n\n", last(counted(7))], end: "clean" }),
    tokens(7),
  ],
  [
    "usage in a later packet behind it",
    streams({ events: [text, stop, "data: [DONE]\n\n", last(counted(7))], gate }),
    tokens(7),
  ],
  [
    "more output behind it, which is not passed on, and no usage",
    streams({ events: [text, stop, "data: [DONE]\n\n", pair, "data: {\n\n", limited, text], end: "clean" }),
    "charged",
  ],
  // Usage settles a stream that breaks off where it stands behind all output.
  ["usage after the last output", breaks(text, { ...empty, ...counted(7) }), tokens(7)],
  ["usage before more output", breaks(text, { ...empty, ...counted(7) }, text, text), "held"],
  ["usage before any output", breaks({ ...empty, ...counted(0) }), "held"],
  ["usage in the event that says why the stream failed", ends(text, { ...limited, ...counted(7) }), tokens(7)],
];

describe("an answer that does not end well", () => {
  test.each(rows)("with %s leaves what it cost, or the hold", async (_, behaviour, outcome, stream = true) => {
    // A gateway for each row: a 429 pauses its model, and the next row's request could be answered by a dearer one.
    await using gateway = await start({ policy, script: () => behaviour });
    await (await gateway.chat({ ...bound, stream })).text();
    const left = async () => {
      const { held, spent } = await gateway.ledger(() => true);
      return { held, spent };
    };
    if (typeof outcome === "number") {
      await eventually(async () => Bun.deepEquals(await left(), { held: 0, spent: outcome }));
      return;
    }
    const [whole, none] = outcome === "held" ? (["held", "spent"] as const) : (["spent", "held"] as const);
    await eventually(async () => (await left())[none] === 0 && (await left())[whole] >= leastHold);
    expect((await left())[whole]).toBeWithin(leastHold, mostHold);
  });
});

describe("a caller who disconnects", () => {
  const stops = { ...policy.upstream, billing_stops_on_cancel: true };
  const hanging = (...events: JsonObject[]) => streams({ events, end: "silence" });
  const json = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"choices":[';
  test.each<[what: string, upstream: object, behaviour: Behaviour, cost?: number | undefined, stream?: boolean]>([
    ["is charged the hold, whatever was counted along the way", policy.upstream, hanging(...counting)],
    // The bytes that were seen are fewer.
    [
      "is charged at least the count where cancelling stops the billing",
      stops,
      hanging({ ...text, ...counted(900) }),
      tokens(900),
    ],
    ["is charged the hold of an answer that is not streamed", stops, silent(), undefined, false],
    ["is charged the hold of a stream that is answered as a whole", stops, writesRaw(json, "silence")],
  ])("%s", async (...[, upstream, behaviour, cost, stream = true]) => {
    await using gateway = await start({ policy: { upstream }, script: () => behaviour });
    const stopped = new AbortController();
    const reply = gateway.chat({ ...bound, stream }, {}, { signal: stopped.signal }).then(
      (answer) => answer.body?.getReader().read(),
      () => undefined,
    );
    await gateway.upstream.request(0);
    // The head of an answer is on its way within this process.
    for (let turn = 0; turn < 50; turn++) await gate();
    if (cost !== undefined || upstream !== stops) await reply;
    stopped.abort();
    await reply;
    await eventually(async () => (await gateway.ledger()).spent > 0);
    const { spent } = await gateway.ledger();
    if (cost === undefined) expect(spent).toBeWithin(leastHold, mostHold);
    else expect(spent).toBe(cost);
  });
});
