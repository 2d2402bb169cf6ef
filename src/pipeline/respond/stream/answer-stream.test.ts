import { expect, test } from "bun:test";
import type { AnswerEnd } from "#pipeline/settle/settle.ts";
import type { Receiver } from "#platform/receiver.ts";
import type { EventBatch, EventStream, UpstreamEvent } from "#upstream/upstream.ts";
import { AnswerStream } from "./answer-stream.ts";
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

/** Events that a test delivers; `onAbort` is the upstream call's reaction to an abort. */
function setUp(events: EventStream, onAbort: () => void = () => {}) {
  const ends: AnswerEnd[] = [];
  const shaper = new StreamShaper({
    model: "m",
    identity: { id: "c", created: 1 },
    wantsUsage: false,
    reasoning: "live",
    maxHeldCharacters: 1_000,
  });
  const stream = new AnswerStream(events, shaper, {
    redactFailure: (failure) => failure,
    abort: onAbort,
    ended: (end) => ends.push(end),
  });
  const received: string[] = [];
  const receiver = {
    onValue: (text: string) => void received.push(text),
    onEnd: () => void received.push("end"),
    onError: () => void received.push("error"),
  };
  return { stream, ends, received, receiver };
}

class Scripted implements EventStream {
  waiting: Receiver<EventBatch> | undefined;
  read(receiver: Receiver<EventBatch>): void {
    this.waiting = receiver;
  }
  give(...batch: UpstreamEvent[]): void {
    const receiver = this.waiting;
    this.waiting = undefined;
    receiver?.onValue(batch);
  }
  takeAll() {
    return undefined;
  }
}

test("the output for an event is delivered in the call that delivers the event", () => {
  const events = new Scripted();
  const { stream, ends, received, receiver } = setUp(events);
  stream.read(receiver);
  events.give(chunk("one"), chunk("two"));
  expect(received).toHaveLength(1);
  expect(received[0]).toContain("one");
  expect(received[0]).toContain("two");
  stream.read(receiver);
  events.give(chunk("three", "stop"), { kind: "end", report: {} });
  expect(received[1]).toEndWith("data: [DONE]\n\n");
  stream.read(receiver);
  expect(received[2]).toBe("end");
  expect(ends).toMatchObject([{ kind: "complete", empty: false }]);
});
