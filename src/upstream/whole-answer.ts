import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { TextReader } from "#http-client/response/body-text.ts";
import { nextOf } from "#platform/receiver.ts";
import type { Attempt } from "./attempt.ts";
import { isWebPage } from "./error-reason.ts";
import { cleanMessage, cutOffFailure, errorIn, garbageFailure, statusFailure } from "./failures.ts";
import type { EventBatch, EventStream, UpstreamFailure, UsageReport } from "./upstream.ts";

/**
 * Reads a body to its end or to `maxBytes`, whichever comes first. Each read has the `idle` deadline; the first one has
 * `first_event` where a server may send headers long before its answer. The text is not whole where it exceeds the bound. Rejects
 * with the error of the read.
 */
export async function readBody(
  body: TextReader,
  maxBytes: number,
  attempt: Attempt,
  now: () => number,
  first: "first_event" | "idle",
): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  const { idle, first_event } = attempt.timeoutsMs;
  let text = "";
  let size = 0;
  attempt.deadlines.await(first, first === "idle" ? now() + idle : attempt.startedAt + first_event);
  while (!body.ended) {
    const read = await nextOf(body);
    if (read === undefined) break;
    const room = maxBytes - size;
    size += Buffer.byteLength(read);
    // The caller ends the attempt, which closes the connection.
    if (size > maxBytes) return { text: text + read.slice(0, room), isWhole: false };
    text += read;
    attempt.deadlines.await("idle", now() + idle);
  }
  return { text, isWhole: true };
}

/** Without framing a cut looks like a clean close, and half an object is what it leaves behind. */
export function notJson(text: string, framed: boolean, contentType: string): UpstreamFailure {
  if (!framed && /^\s*(\{|$)/.test(text)) return cutOffFailure("the upstream's answer was cut off");
  if (isWebPage(text)) return { ...garbageFailure("the upstream answered a web page"), isPage: true };
  return garbageFailure(`the upstream's answer is not JSON (${cleanMessage(contentType) || "no content type"})`);
}

/** What makes a JSON answer useless: no choices, a choice without a message, a choice that is an error. */
export function answerDefect(answer: JsonObject): UpstreamFailure | undefined {
  const choices = answer["choices"];
  if (!Array.isArray(choices) || choices.length === 0) return garbageFailure("the upstream's answer has no choices");
  for (const choice of choices) {
    if (!isObject(choice)) return garbageFailure("the upstream's answer has a choice that is not an object");
    const error = errorIn(choice);
    if (error !== undefined) return error;
    if (choice["finish_reason"] === "error") return statusFailure(500, "the upstream ended its answer with an error");
    if (!isObject(choice["message"])) return garbageFailure("the upstream's answer has a choice without a message");
  }
  return undefined;
}

/** A whole completion as a stream of one chunk. */
export function completionEvents(completion: JsonObject, report: UsageReport): EventStream {
  const chunk = completionChunk(completion);
  let batch: EventBatch | undefined = [
    { kind: "chunk", raw: JSON.stringify(chunk), chunk },
    { kind: "end", report },
  ];
  return {
    takeAll() {
      const all = batch;
      batch = undefined;
      return all;
    },
    read(receiver) {
      const all = this.takeAll();
      if (all === undefined) receiver.onEnd();
      else receiver.onValue(all);
    },
  };
}

/** A whole completion as the one chunk of a stream: each message becomes a delta, each tool call gets its index. */
function completionChunk(completion: JsonObject): JsonObject {
  const choices = Array.isArray(completion["choices"]) ? completion["choices"] : [];
  return {
    ...completion,
    object: "chat.completion.chunk",
    choices: choices.filter(isObject).map((choice, index) => {
      const { message, ...rest } = choice;
      return { index, ...rest, delta: messageDelta(message), finish_reason: choice["finish_reason"] ?? "stop" };
    }),
  };
}

function messageDelta(message: Json | undefined): JsonObject {
  if (!isObject(message)) return {};
  const calls = message["tool_calls"];
  if (!Array.isArray(calls)) return message;
  return { ...message, tool_calls: calls.map((call, index) => (isObject(call) ? { index, ...call } : call)) };
}
