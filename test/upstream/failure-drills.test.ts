import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { manualTime } from "#platform/testing/manual-time.ts";
import { completes, fails, replies, sse } from "#simulator/behaviours.ts";
import type { Behaviour, SimulatedExchange } from "#simulator/simulated-exchange.ts";
import { chunk, disconnects, usageChunk } from "#simulator/testing/scripted.ts";
import { type Answer, start, type TestGateway, upstreamIds } from "../harness/gateway.ts";
import { contentOf, finishReasonsOf, readStream } from "../harness/sse.ts";

/**
 * What a caller gets when the first model misbehaves and the others are well, with the shipped defaults: sixteen drills, streamed
 * and whole. Time is the test's: it passes only while an upstream is silent, and by the whole `Retry-After` once the gateway waits for
 * it. So a busy machine makes a drill slow, but changes nothing that it sees.
 */

/** What the flash model does when it gets the n-th call, counted from 0; undefined: it answers. */
type Fault = (drill: Drill, n: number, stream: boolean) => Behaviour | undefined;

/** `outcome`: the models called, in order, what the caller gets (the answer of a model, or the code of an error), and after how many seconds. */
type Row = readonly [name: string, fault: Fault, outcome: string, outcomeOfStream?: string];

/** No other wait of the gateway is that long. */
const retryAfterMs = 4_000;
const words = "one two three four five six seven eight nine ten";
const names = ["flash", "pro", "emergency"];
const idOf = (name: string) => upstreamIds[name === "emergency" ? "vendor_emergency" : `vendor_v4_${name}`] ?? "";
const nameIn = (body?: JsonObject) => names.find((name) => body?.["model"] === idOf(name)) ?? "free";
const text = (model: string) => `${model} says ${words}`;

const always = (behaviour: Behaviour) => () => behaviour;
const once = (behaviour: Behaviour) => (_: Drill, n: number) => (n === 0 ? behaviour : undefined);

/** Half of an answer, and then what `then` does. */
const half =
  (then: (drill: Drill) => Behaviour): Fault =>
  (drill, n, stream) =>
    n > 0
      ? undefined
      : async (exchange) => {
          if (stream) {
            exchange.head(200, sse, "chunked");
            for (const word of words.split(" ").slice(0, 5)) await exchange.event(chunk({ content: `${word} ` }));
          } else {
            exchange.head(200, { "content-type": "application/json" }, "length", 400);
            await exchange.part('{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"one two');
          }
          await then(drill)(exchange);
        };

const rows: readonly Row[] = [
  [
    "429 with Retry-After: waits as it was told, and asks again",
    once(fails(429, "slow down", { "retry-after": String(retryAfterMs / 1_000) })),
    "flash flash, flash, 4",
  ],
  ["429 without Retry-After: the next model at once", always(fails(429, "slow down")), "flash pro, pro, 0"],
  ["500 once: the same model again", once(fails(500)), "flash flash, flash, 0"],
  ["503 that stays: two calls, then the next model", always(fails(503, "overloaded")), "flash flash pro, pro, 0"],
  ["connection reset before an answer: the same model again", once(disconnects("rst")), "flash flash, flash, 0"],
  [
    "no answer at all: the next model after one time-out",
    (drill) => drill.silence(),
    "flash pro, pro, 30",
    "flash pro, pro, 12",
  ],
  [
    "first token after 20 s: a stream moves on",
    (drill, _, stream) => drill.silence(20_000, stream),
    "flash, flash, 20",
    "flash pro, pro, 12",
  ],
  [
    "cut in the middle",
    half(() => (exchange) => exchange.cut("fin")),
    "flash flash, flash, 0",
    "flash, 502 cut_off, 0",
  ],
  [
    "cut in the middle by a reset",
    half(() => (exchange) => exchange.cut("rst")),
    "flash flash, flash, 0",
    "flash, 502 cut_off, 0",
  ],
  ["stalled in the middle", half((drill) => drill.silence()), "flash pro, pro, 30", "flash, 504 timed_out, 30"],
  [
    "an event, or a whole answer, that is not JSON",
    half(() => async (exchange) => {
      if (exchange.request.body?.["stream"] === true) await exchange.event('data: {"choices":[{"delta":\n\n');
      else await exchange.part(`"oops${" ".repeat(320)}`);
      exchange.finish();
    }),
    "flash flash, flash, 0",
    "flash, 502 garbage, 0",
  ],
  [
    "no end mark, but a finish reason",
    (_, __, stream) => {
      if (!stream) return undefined;
      return (exchange) => {
        exchange.head(200, sse, "chunked");
        return wholeStream(exchange);
      };
    },
    "flash, flash, 0",
  ],
  [
    "context length: a model whose context is as large",
    always(
      replies(400, {
        error: {
          message:
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9631 tokens.",
          code: "context_length_exceeded",
        },
      }),
    ),
    "flash pro, pro, 0",
  ],
  [
    "content filter: the refusal, with its own code",
    always(
      replies(400, {
        error: { message: "Your request was rejected by our safety system.", code: "content_policy_violation" },
      }),
    ),
    "flash, 500 content_filtered, 0",
  ],
];

/** All models have the fault. */
const rowsOfAll: readonly Row[] = [
  [
    "no answer from anybody",
    (drill) => drill.silence(),
    "flash pro emergency, 504 upstream_timed_out, 90",
    "flash pro emergency, 504 timed_out, 72",
  ],
  [
    "first token after 20 s, everywhere: the first to answer",
    (drill, _, stream) => drill.silence(20_000, stream),
    "flash, flash, 20",
    "flash pro, pro, 32",
  ],
  [
    "context length, everywhere, in a body without `error`: its own code",
    always(
      replies(400, { object: "error", message: "This model's maximum context length is 8192 tokens.", code: 400 }),
    ),
    "flash pro emergency, 500 context_length_exceeded, 0",
  ],
];

/** The model's answer as events, without an end mark. */
const wholeStream: Behaviour = async (exchange) => {
  const { body } = exchange.request;
  const more = { model: body?.["model"] ?? "" };
  await exchange.event(chunk({ role: "assistant", content: text(nameIn(body)) }, null, more));
  await exchange.event(chunk({}, "stop", more));
  await exchange.event(usageChunk({ input: 10, output: 10 }));
  exchange.finish();
};

/** A gateway in the test's time, in front of a flash model with a fault and other models that are well. */
class Drill implements AsyncDisposable {
  readonly time = manualTime();
  readonly calls: string[] = [];
  /** Keep-alive comments that the caller has got. */
  comments = 0;
  #silent = 0;
  #gateway: TestGateway | undefined;

  static async start(fault: Fault, { everywhere = false, keepaliveMs = 10_000 } = {}): Promise<Drill> {
    const drill = new Drill();
    drill.#gateway = await start({
      policy: {
        stream: { keepalive_ms: keepaliveMs },
        upstream: { retry_budget_per_second: 3 },
      },
      overrides: { clock: drill.time.clock, timers: { after: (ms, callback) => drill.#after(ms, callback) } },
      script: ({ body }) => {
        const model = nameIn(body);
        const calls = drill.calls.push(model);
        const isFaulty = everywhere || model === "flash";
        return (
          (isFaulty ? fault(drill, calls - 1, body?.["stream"] === true) : undefined) ??
          completes({ text: text(model) })
        );
      },
    });
    return drill;
  }

  get gateway(): TestGateway {
    if (this.#gateway === undefined) throw new Error("not started");
    return this.#gateway;
  }

  /** Silence, for ever or for so long before the answer; with `head`, after the head of a stream. */
  silence(ms?: number, head = false): Behaviour {
    return async (exchange: SimulatedExchange) => {
      if (head) exchange.head(200, sse, "chunked");
      this.#silent += 1;
      await exchange.until(new Promise<void>((resolve) => ms !== undefined && this.time.timers.after(ms, resolve)));
      this.#silent -= 1;
      if (exchange.over) return;
      if (!head) return completes({ text: text(nameIn(exchange.request.body)) })(exchange);
      await wholeStream(exchange);
    };
  }

  /** Waits before a retry pass as soon as they begin. */
  #after(ms: number, callback: () => void): () => void {
    if (ms === 0 || ms === retryAfterMs) setImmediate(() => this.time.advance(ms));
    return this.time.timers.after(ms, callback);
  }

  /** Sends a request and lets time pass until all of the answer is there: the answering model, or an error's code. */
  async ask(stream: boolean): Promise<{ gets: string; seconds: number }> {
    const { clock } = this.time;
    const fromMs = clock.monotonic();
    let isOver = false;
    const outcome = this.#outcome(stream).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      // Both ends of a call are in this process: after a few ticks, a silent upstream knows that it was given up.
      for (let tick = 0; tick < 4; tick++) await Bun.sleep(0);
      if (this.#silent > 0) this.time.advance(100);
    }
    const seconds = (clock.monotonic() - fromMs) / 1_000;
    return { gets: await outcome, seconds };
  }

  async #outcome(stream: boolean): Promise<string> {
    const body = { model: "smart-router-flash", ...(stream && { stream, stream_options: { include_usage: true } }) };
    const response = await this.gateway.chat(body, { "x-smart-gateway-errors": "openai" });
    if (response.status !== 200 || !stream) {
      const { error, choices, model, usage }: Answer = await response.json();
      if (error !== undefined) return `${response.status} ${error.code}`;
      return whoSays(choices[0].message.content, model, usage);
    }
    const { chunks, comments, done } = await readStream(response);
    this.comments = comments.length;
    expect(done).toBe(true);
    const error = chunks.at(-1)?.error;
    if (error !== undefined) {
      expect(chunks.at(-1)).toMatchObject({ id: expect.any(String), choices: [{ finish_reason: "error" }] });
      return `${error.code} ${error.metadata.error_type}`;
    }
    expect(finishReasonsOf(chunks)).toEqual(["stop"]);
    return whoSays(contentOf(chunks), chunks[0].model, chunks.at(-1).usage);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.gateway.stop();
  }
}

/** The model whose whole answer this is, under its own name and with its usage. */
function whoSays(content: string, model: string, usage: Answer): string {
  const name = names.find((name) => content === text(name) && model === idOf(name));
  return name === undefined || !(usage?.completion_tokens > 0) ? `${model}: ${content}` : name;
}

describe.each([true, false])("stream: %p", (stream) => {
  for (const [name, fault, whole, ofStream = whole] of [...rows, ...rowsOfAll])
    test(name, async () => {
      const everywhere = rowsOfAll.some((row) => row[0] === name);
      await using drill = await Drill.start(fault, { everywhere });
      const { gets, seconds } = await drill.ask(stream);

      const outcome = [drill.calls.join(" "), gets, Math.round(seconds)].join(", ");
      expect(outcome).toBe(stream ? ofStream : whole);
      expect(drill.comments > 0).toBe(stream && seconds >= 10);
    });

  test("flapping: all are served during an outage of 60 s, and the model serves again within 30 s after it", async () => {
    let isDown = true;
    await using drill = await Drill.start(() => (isDown ? fails(503) : undefined));
    const served: string[] = [];
    const { clock, setWallClock } = drill.time;
    const startMs = clock.now();
    const until = async (seconds: number) => {
      while (clock.now() < startMs + seconds * 1_000) {
        served.push((await drill.ask(stream)).gets);
        setWallClock(clock.now() + 4_000); // health goes by the wall clock
      }
    };
    await until(60);
    expect(served).toEqual(Array(15).fill("pro"));
    // A model that is out is asked rarely, not by each request.
    expect(drill.calls.filter((model) => model === "flash").length).toBeLessThan(15);
    isDown = false;
    await until(90);
    expect(served.slice(15)).toContain("flash");
    expect(["flash", "pro"]).toEqual(expect.arrayContaining(served));
  });

  test("accounting: the answer's cost is what the upstream bills, under the name of the model that answered", async () => {
    await using drill = await Drill.start(always(fails(503)));
    expect(await drill.ask(stream)).toMatchObject({ gets: "pro" });
    const { spent } = await drill.gateway.ledger(({ spent }) => spent > 0);
    expect(spent).toBe(drill.gateway.upstream.billedNanoUsd());
  });
});

test("without keep-alive comments a stream fails over all the same", async () => {
  await using drill = await Drill.start((drill) => drill.silence(), { keepaliveMs: 0 });
  expect(await drill.ask(true)).toMatchObject({ gets: "pro" });
  expect(drill.comments).toBe(0);
});
