import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import type { TextReader } from "#http-client/response/body-text.ts";
import { nextOf } from "#platform/receiver.ts";
import type { Attempt } from "./attempt.ts";
import { addDelta } from "./choices.ts";
import { isWebPage } from "./error-reason.ts";
import { cleanMessage, cutOffFailure, garbageFailure } from "./failures.ts";
import type { BrokenStream, EventStream, Finishes, StreamEnd, UpstreamFailure } from "./upstream.ts";

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
 * Reads the rest of a body that begins with `first`, to its end or to `maxBytes`, whichever comes first. Each read has
 * the `idle` deadline. The text is not whole where it exceeds the bound. Rejects with the error of the read.
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

/** A body without the end mark of a stream, which some servers send behind whole answers too. */
export function withoutEndMark(text: string): string {
  const end = text.lastIndexOf("}") + 1;
  return /^\s{0,8}data: {0,8}\[DONE\]/.test(text.slice(end, end + 32)) ? text.slice(0, end) : text;
}

/** Without framing a cut looks like a clean close, and half an object is what it leaves behind. */
export function notJson(text: string, framed: boolean, contentType: string): UpstreamFailure {
  if (!framed && /^\s*(\{|$)/.test(text)) return cutOffFailure("the upstream's answer was cut off");
  if (isWebPage(text)) return { ...garbageFailure("the upstream answered a web page"), isPage: true };
  return garbageFailure(`the upstream's answer is not JSON (${cleanMessage(contentType) || "no content type"})`);
}

/** Puts in the finish reasons that choices lack. True if one did. */
export function addFinishes(choices: readonly Json[], finishes: Finishes): boolean {
  let isChanged = false;
  for (const choice of choices) {
    if (!isObject(choice) || typeof choice["finish_reason"] === "string") continue;
    choice["finish_reason"] = finishes.get(Number(choice["index"])) ?? "stop";
    isChanged = true;
  }
  return isChanged;
}

/** A stream as the one answer that was asked for, or how it broke. */
export async function completionOf(
  events: EventStream,
  maxBytes: number,
): Promise<BrokenStream | (StreamEnd & { readonly answer: JsonObject })> {
  const whole: JsonObject = { choices: [] };
  let size = 0;
  for (;;) {
    for (const event of (await nextOf(events)) ?? []) {
      if (event.kind === "broken") return event;
      if (event.kind === "end") return { ...event, answer: completion(whole, event) };
      // No runs: they are made of what is streamed on.
      if (event.kind !== "chunk") continue;
      size += event.raw.length;
      if (size > maxBytes) {
        const { report } = events.stop();
        return {
          kind: "broken",
          failure: garbageFailure(`the upstream's answer is larger than ${maxBytes} bytes`),
          report,
        };
      }
      addDelta(whole, event.chunk);
    }
  }
}

function completion({ choices, ...names }: JsonObject, { finishes }: StreamEnd): JsonObject {
  const messages = (choices as JsonObject[]).map(({ delta, finish_reason: _, ...rest }) => ({
    ...rest,
    message: { role: "assistant", ...(isObject(delta) && delta) },
  }));
  addFinishes(messages, finishes);
  return { ...names, object: "chat.completion", choices: messages };
}
