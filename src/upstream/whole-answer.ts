import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { TextReader } from "#http-client/response/body-text.ts";
import { nextOf } from "#platform/receiver.ts";
import type { Attempt } from "./attempt.ts";
import { addDelta, chunkOf, finishOf, readChoice } from "./choices.ts";
import { cleanMessage, cutOffFailure, garbageFailure } from "./failures.ts";
import type { FinishReason } from "./finish-reasons.ts";
import {
  carriesSomething,
  type EventBatch,
  type EventStream,
  hasOutput,
  type StreamEnd,
  type UpstreamFailure,
  type UsageReport,
} from "./upstream.ts";

/** What a body begins with, read so far that this shows whether it is a stream of events, whatever its content type says. */
export async function beginningOf(
  body: TextReader,
  attempt: Attempt,
  now: () => number,
): Promise<{ readonly text: string; readonly isEvents: boolean }> {
  let text = "";
  for (;;) {
    const read = await nextOf(body);
    // White space before a whole answer keeps the connection alive; it is not kept.
    if (!attempt.stream) attempt.deadlines.await("idle", now() + attempt.timeoutsMs.idle);
    text = (text + (read ?? "")).trimStart();
    const isEvents = /^(?:data|event|id|retry|error)?:/.test(text.slice(0, 6));
    if (isEvents || read === undefined || (text !== "" && !/^[a-z]{0,5}$/.test(text.slice(0, 6))))
      return { text, isEvents };
  }
}

/**
 * Reads the rest of a body that begins with `first`, to its end or to `maxBytes`, whichever comes first. Each read has the `idle`
 * deadline. The text is not whole where it exceeds the bound. Rejects with the error of the read.
 */
export async function readBody(
  first: string,
  body: TextReader,
  maxBytes: number,
  attempt: Attempt,
  now: () => number,
): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  let text = first;
  let size = Buffer.byteLength(first);
  while (size <= maxBytes && !body.ended) {
    attempt.deadlines.await("idle", now() + attempt.timeoutsMs.idle);
    const read = await nextOf(body);
    if (read === undefined) break;
    size += Buffer.byteLength(read);
    text += read;
  }
  // The caller ends the attempt, which closes the connection.
  return size > maxBytes ? { text: text.slice(0, maxBytes), isWhole: false } : { text, isWhole: true };
}

/** The JSON of a body, which may have the end mark of a stream behind it; undefined where it is none. */
export function jsonIn(text: string): Json | undefined {
  const end = text.lastIndexOf("}") + 1;
  const isMarked = /^\s{0,8}data: {0,8}\[DONE\]/.test(text.slice(end, end + 32));
  try {
    return JSON.parse(isMarked ? text.slice(0, end) : text);
  } catch {
    return undefined;
  }
}

/** Without framing a cut looks like a clean close, and half an object is what it leaves behind. */
export function notJson(text: string, framed: boolean, contentType: string): UpstreamFailure {
  if (!framed && /^\s*(\{|$)/.test(text)) return cutOffFailure("the upstream's answer was cut off");
  return garbageFailure(`the upstream's answer is not JSON (${cleanMessage(contentType) || "no content type"})`);
}

/** A whole answer that can be used. */
interface ReadAnswer extends Pick<StreamEnd, "finishes" | "isEmpty"> {
  /** It was brought into the format's own form. */
  readonly isChanged: boolean;
}

/** Brings the choices of an answer into the format's own form, in place, or says what makes it useless. */
export function readAnswer(answer: JsonObject): ReadAnswer | UpstreamFailure {
  const choices = answer["choices"];
  if (!Array.isArray(choices) || choices.length === 0) return garbageFailure("the upstream's answer has no choices");
  const finishes = new Map<number, FinishReason>();
  let isChanged = false;
  let isEmpty = true;
  for (const [at, choice] of choices.entries()) {
    const read = readChoice(choice, at, "message");
    if ("kind" in read) return read;
    // Calls that are cut off have come all the same: nobody has said that the answer is not whole.
    const finish = read.finish ?? finishOf(read.part) ?? "tool_calls";
    isChanged ||= read.isChanged || read.finish === undefined;
    if (isObject(choice)) choice["finish_reason"] = finish;
    finishes.set(read.index, finish);
    isEmpty &&= finish === "stop" && !hasOutput(read.part);
  }
  return { isChanged, finishes, isEmpty };
}

/** Whether one of the choices has some of an answer in its message. */
export function hasBegun(choices: Json | undefined): boolean {
  return (
    Array.isArray(choices) &&
    choices.some((each) => isObject(each) && isObject(each["message"]) && carriesSomething(each["message"]))
  );
}

/** A stream as the one answer that was asked for; fails as the stream does. */
export async function completionOf(
  events: EventStream,
  maxBytes: number,
): Promise<
  | { readonly kind: "completion"; readonly answer: JsonObject; readonly end: StreamEnd }
  | { readonly kind: "failure"; readonly failure: UpstreamFailure }
> {
  const answer: JsonObject = {};
  const choices: JsonObject[] = [];
  let size = 0;
  const add = (raw: string, { choices: more, usage, ...names }: JsonObject) => {
    size += raw.length;
    for (const [name, value] of Object.entries(names)) if (value !== null && value !== "") answer[name] ??= value;
    if (isObject(usage)) answer["usage"] = usage;
    for (const choice of Array.isArray(more) ? more.filter(isObject) : []) {
      const { index, delta, finish_reason: _, ...rest } = choice;
      let whole = choices.find((each) => each["index"] === index);
      if (whole === undefined) {
        whole = { index: index ?? 0, message: { role: "assistant" } };
        choices.push(whole);
      }
      addDelta(whole, { ...rest, message: delta ?? {} });
    }
  };
  for (;;) {
    for (const event of (await nextOf(events)) ?? []) {
      if (event.kind === "broken") return { kind: "failure", failure: event.failure };
      if (event.kind === "chunk") add(event.raw, event.chunk);
      else if (event.kind === "run")
        for (const each of event.events.split("\n\n"))
          if (each !== "") add(each, JSON.parse(each.slice("data: ".length)));
      if (size > maxBytes)
        return { kind: "failure", failure: garbageFailure(`the upstream's answer is larger than ${maxBytes} bytes`) };
      if (event.kind !== "end") continue;
      for (const choice of choices) choice["finish_reason"] = event.finishes.get(Number(choice["index"])) ?? "stop";
      return { kind: "completion", answer: { ...answer, object: "chat.completion", choices }, end: event };
    }
  }
}

/** A whole completion as a stream of one chunk. */
export function completionEvents(
  completion: JsonObject,
  { finishes, isEmpty }: ReadAnswer,
  report: UsageReport,
): EventStream {
  const chunk = chunkOf(completion);
  const raw = JSON.stringify(chunk);
  let batch: EventBatch | undefined = [
    { kind: "chunk", raw, chunk },
    { kind: "end", report, finishes, isEmpty },
  ];
  return {
    read(receiver) {
      const all = batch;
      batch = undefined;
      if (all === undefined) receiver.onEnd();
      else receiver.onValue(all);
    },
    stop: () => ({ report, outputBytes: raw.length }),
  };
}
