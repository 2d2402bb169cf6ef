import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { HttpExchange } from "#http-client/http-exchange.ts";
import { AnswerStream, type StreamEnd } from "#pipeline/respond/stream/answer-stream.ts";
import { StreamShaper } from "#pipeline/respond/stream/shape-stream.ts";
import { LightAbortController } from "#platform/abort.ts";
import { manualTime } from "#platform/manual-time.ts";
import { createAnswerGuard } from "#privacy/restore/answer-guard.ts";
import { Attempt } from "#upstream/attempt.ts";
import { StreamEvents } from "#upstream/stream/stream-events.ts";
import { anyEvent, event } from "./drawn-events.ts";
import { callOf, limits } from "./raw-server.ts";

/** Put together here so that scanners of repositories do not take it for a key. */
const ownKey = ["own", "key", "0123456789"].join("-");

/** A stream from its exchange to its caller. `usualWay`: without the fast path of events that are alike. */
async function streamOf({ usualWay = false, timeoutsMs = limits } = {}) {
  const time = manualTime(0);
  const caller = new LightAbortController();
  const exchange = new HttpExchange(() => undefined);
  const calls: string[] = [];
  exchange.attach({
    stage: "exchange",
    pause: () => void calls.push("pause"),
    resume: () => void calls.push("resume"),
    destroy: () => void calls.push("destroy"),
  });
  const attempt = new Attempt(callOf(true, { timeoutsMs }), caller, time.clock, time.timers);
  attempt.exchange = exchange;
  const events = new StreamEvents(exchange, attempt, { maxEventBytes: 10_000, maxValues: 1_000 }, () =>
    time.clock.monotonic(),
  );
  const give = (text: string) => {
    const bytes = Buffer.from(text);
    exchange.onBody(bytes, 0, bytes.length);
  };
  const opened = events.open();
  give(event({ role: "assistant", content: "first" }));
  expect(await opened).toBeUndefined();
  const guard = createAnswerGuard({ rule: "own_key", value: ownKey });
  if (guard === undefined) throw new Error("the key is taken for a word");
  const ends: StreamEnd[] = [];
  const stream = new AnswerStream({
    events,
    shaper: new StreamShaper({
      model: "vendor/model",
      identity: { id: "chatcmpl-own", created: 7 },
      wantsUsage: true,
      reasoning: "field",
      maxHeldCharacters: 20,
      guard,
    }),
    redactFailure: (failure) => failure,
    abort: () => caller.abort(),
    ended: (end) => ends.push(end),
  });
  let forwarded = 0;
  const forward = stream.forward.bind(stream);
  stream.forward = (...of) => {
    const taken = forward(...of);
    if (taken !== undefined) forwarded += 1;
    return taken;
  };
  if (usualWay) stream.fastPathFor = () => undefined;
  const received: string[] = [];
  const receiver = {
    /** Whether it goes on waiting, text by text; at the end of the list it does. */
    goesOn: [] as boolean[],
    onText(text: string): boolean {
      received.push(text);
      return this.goesOn.shift() ?? true;
    },
    onEnd: () => void received.push("end"),
    onError: () => void received.push("error"),
  };
  return { time, exchange, stream, give, received, ends, receiver, calls, forwarded: () => forwarded };
}

const word = (content: string) => event({ role: "assistant", content });

describe("the fast path of events that are alike", () => {
  test("leads to the same text and the same end as the usual one, wherever reads and callers pause", async () => {
    const content = fc.oneof(
      fc.string({ unit: "binary", maxLength: 6 }),
      fc.nat(ownKey.length).chain((from) => fc.nat(ownKey.length).map((to) => ownKey.slice(from, to))),
      fc.constant(ownKey),
    );
    const alike = fc.array(content.map(word), { minLength: 2, maxLength: 8 });
    const other = anyEvent(content).map((each) => [each]);
    const anyEvents = fc.array(fc.oneof({ weight: 2, arbitrary: alike }, other), { maxLength: 8 });
    let forwardedInAll = 0;
    await fc.assert(
      fc.asyncProperty(
        anyEvents.map((groups) => groups.flat()),
        fc.array(fc.nat(), { maxLength: 3 }),
        fc.array(fc.constantFrom(true, true, true, false), { maxLength: 20 }),
        fc.constantFrom("end", "leave", "break off"),
        async (events, cuts, goesOn, ending) => {
          const whole = events.join("");
          const pieces = [...events];
          // Some reads end in the middle of an event.
          for (const cut of cuts) {
            const at = cut % Math.max(1, pieces.length);
            const piece = pieces[at] ?? "";
            const middle = whole.length % (piece.length + 1);
            pieces.splice(at, 1, piece.slice(0, middle), piece.slice(middle));
          }
          const run = async (usualWay: boolean) => {
            const setUp = await streamOf({ usualWay });
            setUp.receiver.goesOn = [...goesOn];
            setUp.stream.pull(setUp.receiver);
            let texts = setUp.received.length;
            for (const piece of pieces) {
              if (piece !== "") setUp.give(piece);
              if (setUp.received.length > texts && setUp.received.at(-1) !== "end") {
                // A caller that has taken a text and does not go on waiting asks again; asking twice is not allowed.
                const stopped = goesOn.slice(texts, setUp.received.length).at(-1) === false;
                texts = setUp.received.length;
                if (stopped) setUp.stream.pull(setUp.receiver);
              }
            }
            if (ending === "leave") setUp.stream.cancel();
            else if (ending === "break off")
              setUp.received.push(setUp.stream.breakOff({ kind: "cut_off", message: "closing", dispatched: true }));
            else setUp.exchange.onEnd();
            forwardedInAll += setUp.forwarded();
            return { text: setUp.received.join(""), ends: setUp.ends };
          };
          expect(await run(false)).toEqual(await run(true));
        },
      ),
      { numRuns: 100 },
    );
    expect(forwardedInAll).toBeGreaterThan(100);
  });

  test("is taken by every event but those that show what they have in common", async () => {
    const { stream, give, received, receiver, forwarded } = await streamOf();
    stream.pull(receiver);
    const words = Array.from({ length: 50 }, (_, at) => word(`word ${at} `));
    for (const each of words) give(each);
    expect(received.slice(1)).toEqual(words);
    expect(forwarded()).toBeGreaterThan(45);
  });

  test("is not taken where several events would make the gateway's own key", async () => {
    const { stream, give, received, receiver, exchange } = await streamOf();
    stream.pull(receiver);
    for (const each of ["a ", "b ", ...ownKey, " c"]) give(word(each));
    exchange.onEnd();
    const text = received.join("");
    expect(text).not.toContain(`"${ownKey.slice(-1)}"`);
    expect(text).toContain("[REDACTED:own_key:1]");
  });

  test("keeps the deadline of a silent upstream, counted from the last event", async () => {
    const { time, stream, give, received, receiver, ends, forwarded } = await streamOf({
      timeoutsMs: { ...limits, idle: 1_000, idle_data: 5_000 },
    });
    stream.pull(receiver);
    for (let at = 0; at < 20; at++) {
      give(word(`${at} `));
      time.advance(900);
    }
    expect(forwarded()).toBeGreaterThan(15);
    expect(ends).toEqual([]);
    time.advance(99);
    expect(ends).toEqual([]);
    time.advance(1);
    expect(ends).toMatchObject([{ kind: "broken", failure: { kind: "timed_out" } }]);
    expect(received.at(-1)).toBe("end");
  });

  test("stops with the caller, whose time is not the upstream's silence", async () => {
    const { time, stream, give, received, receiver, ends, calls, forwarded } = await streamOf({
      timeoutsMs: { ...limits, idle: 1_000 },
    });
    stream.pull(receiver);
    for (let at = 0; at < 10; at++) give(word(`${at} `));
    const before = forwarded();
    receiver.goesOn = [false];
    give(word("the last that it takes"));
    expect(forwarded()).toBe(before + 1);
    const texts = received.length;
    time.advance(5_000);
    for (let at = 0; at < 400; at++) give(word("x".repeat(100)));
    expect(received).toHaveLength(texts);
    expect(calls).toEqual(["pause"]);
    stream.pull(receiver);
    expect(calls).toEqual(["pause", "resume"]);
    expect(received.slice(texts).join("")).toBe(word("x".repeat(100)).repeat(400));
    expect(ends).toEqual([]);
    time.advance(1_000);
    expect(ends).toMatchObject([{ kind: "broken", failure: { kind: "timed_out" } }]);
  });

  test("ends once for a caller who leaves while it is given text", async () => {
    const { stream, give, ends, forwarded, calls } = await streamOf();
    let left = false;
    stream.pull({
      onText() {
        if (left) stream.cancel();
        return !left;
      },
      onEnd: () => undefined,
      onError: () => undefined,
    });
    for (let at = 0; at < 10; at++) give(word(`${at} `));
    const before = forwarded();
    left = true;
    give(word("too late"));
    expect(forwarded()).toBe(before + 1);
    expect(ends).toMatchObject([{ kind: "caller_gone" }]);
    expect(calls).toEqual(["destroy"]);
  });
});
