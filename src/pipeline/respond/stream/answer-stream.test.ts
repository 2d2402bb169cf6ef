import { expect, test } from "bun:test";
import type { EventReceiver, EventStream, UpstreamEvent, UpstreamFailure } from "#upstream/upstream.ts";
import { AnswerStream, type StreamEnd } from "./answer-stream.ts";
import { StreamShaper } from "./shape-stream.ts";

const chunk = (content: string, finish_reason: string | null = null): UpstreamEvent => {
  const json = {
    id: "c",
    created: 1,
    object: "chat.completion.chunk",
    model: "m",
    choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason }],
  };
  return { kind: "chunk", raw: JSON.stringify(json), chunk: json };
};
const aborted: UpstreamFailure = { kind: "aborted", message: "the caller disconnected", dispatched: true };
const broken: UpstreamEvent = { kind: "broken", failure: aborted, report: {} };

/** Events that a test delivers; `onAbort` is the upstream call's reaction to an abort. */
function setUp(events: EventStream, onAbort: () => void = () => {}) {
  const ends: StreamEnd[] = [];
  const stream = new AnswerStream({
    events,
    shaper: new StreamShaper({
      model: "m",
      identity: { id: "c", created: 1 },
      wantsUsage: false,
      reasoning: "live",
      maxHeldCharacters: 1_000,
    }),
    redactFailure: (failure) => failure,
    abort: onAbort,
    ended: (end) => ends.push(end),
  });
  const received: string[] = [];
  const receiver = {
    /** Whether it waits for more. */
    eager: false,
    onText(text: string) {
      received.push(text);
      return this.eager;
    },
    onEnd: () => void received.push("end"),
    onError: () => void received.push("error"),
  };
  return { stream, ends, received, receiver };
}

class Pulled implements EventStream {
  waiting: EventReceiver | undefined;
  pull(receiver: EventReceiver): void {
    this.waiting = receiver;
  }
  give(...batch: UpstreamEvent[]): void {
    const receiver = this.waiting;
    this.waiting = undefined;
    if (receiver?.onEvents(batch) === true) this.waiting = receiver;
  }
  [Symbol.asyncIterator](): AsyncIterator<readonly UpstreamEvent[]> {
    return { next: () => Promise.reject(new Error("unreachable: read with pull")) };
  }
}

const iterated = (...batches: UpstreamEvent[][]): EventStream => ({
  async *[Symbol.asyncIterator]() {
    yield* batches;
  },
});

test("the output for an event is delivered in the call that delivers the event", () => {
  const events = new Pulled();
  const { stream, ends, received, receiver } = setUp(events);
  stream.pull(receiver);
  events.give({ kind: "keepalive" });
  events.give(chunk("one"), chunk("two"));
  expect(received).toHaveLength(1);
  expect(received[0]).toContain("one");
  expect(received[0]).toContain("two");
  stream.pull(receiver);
  events.give(chunk("three", "stop"), { kind: "end", report: {} });
  expect(received[1]).toEndWith("data: [DONE]\n\n");
  stream.pull(receiver);
  expect(received[2]).toBe("end");
  expect(ends).toMatchObject([{ kind: "complete", empty: false }]);
});

test("a receiver that asks for more gets the next output, and the end, without another pull", () => {
  const events = new Pulled();
  const { stream, ends, received, receiver } = setUp(events);
  receiver.eager = true;
  stream.pull(receiver);
  events.give(chunk("one"));
  events.give({ kind: "keepalive" });
  events.give(chunk("two"));
  expect(received).toHaveLength(2);
  events.give(chunk("three", "stop"), { kind: "end", report: {} });
  expect(received[2]).toEndWith("data: [DONE]\n\n");
  expect(received.slice(3)).toEqual(["end"]);
  expect(events.waiting).toBeUndefined();
  expect(ends).toMatchObject([{ kind: "complete" }]);
});

test("a caller who disconnects while receiving text is settled once, and the events that the abort leaves are read", () => {
  const events = new Pulled();
  const { stream, ends } = setUp(events);
  stream.pull({
    onText() {
      stream.cancel();
      return false;
    },
    onEnd: () => {},
    onError: () => {},
  });
  events.give(chunk("one"));
  expect(events.waiting).toBeDefined();
  events.give(chunk("two"));
  events.give(broken);
  expect(ends).toMatchObject([{ kind: "caller_gone" }]);
});

test.each(["while a read is under way", "between two reads"])(
  "a caller who disconnects %s is settled once, as disconnected",
  (when) => {
    const events = new Pulled();
    const { stream, ends, receiver } = setUp(events, () => events.give(broken));
    stream.pull(receiver);
    events.give(chunk("one"));
    if (when === "while a read is under way") stream.pull(receiver);
    stream.cancel();
    // Between two reads the caller must pull the events that the abort has left.
    events.give(broken);
    stream.cancel();
    expect(ends).toMatchObject([{ kind: "caller_gone" }]);
  },
);

test("the caller counts as disconnected as well if the abort reaches the upstream call first", () => {
  const events = new Pulled();
  const { stream, ends, receiver } = setUp(events);
  stream.pull(receiver);
  events.give(chunk("one"));
  stream.pull(receiver);
  events.give(broken);
  stream.cancel();
  expect(ends).toMatchObject([{ kind: "caller_gone" }]);
  expect(ends[0]).toHaveProperty("outputBytesSeen");
});

test("events without pull are read one after the other, and to their end for a disconnected caller", async () => {
  const { stream, ends } = setUp(iterated([chunk("one")], [{ kind: "keepalive" }], [chunk("two")], [broken]));
  expect(await stream.next()).toContain("one");
  stream.cancel();
  for (let turn = 0; turn < 20 && ends.length === 0; turn++) await Promise.resolve();
  expect(ends).toMatchObject([{ kind: "caller_gone" }]);
  expect(await stream.next()).toBeUndefined();
});

test("events that stop without an end are a broken stream", async () => {
  const { stream, ends } = setUp(iterated([chunk("one")]));
  await stream.next();
  expect(await stream.next()).toContain('"finish_reason":"error"');
  expect(ends).toMatchObject([{ kind: "broken", failure: { kind: "cut_off" } }]);
});
