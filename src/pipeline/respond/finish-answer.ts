import { isObject, type JsonObject } from "#domain/chat.ts";
import { otherModel } from "#domain/model-names.ts";
import { endedByLimit } from "#pipeline/execute/caller-faults/caller-faults.ts";
import { largeWorkTurn, runInTurns } from "#platform/event-loop-turns.ts";
import { writeJsonInSteps } from "#platform/json/json-in-steps.ts";
import type { TextRestorer } from "./text-restorer.ts";

/**
 * A whole answer as the caller gets it, as JSON text: the upstream's object under the id of the model that was asked, or of
 * the one that the upstream says has answered instead; where a
 * message has reasoning and no content (null or absent), the reasoning becomes the content. An answer that needs no change
 * leaves as the very text it came in (`raw`). Changes the object it is given.
 */
export function finishAnswer(answer: JsonObject, raw: string, model: string, restorer?: () => TextRestorer): string {
  return adapt(answer, model, restorer) ? JSON.stringify(answer) : raw;
}

/** The same for an answer of megabytes, in turns of the event loop. Without `raw` it is written anew. */
export async function finishLargeAnswer(
  answer: JsonObject,
  raw: string | undefined,
  model: string,
  restorer?: () => TextRestorer,
): Promise<string | Uint8Array> {
  await largeWorkTurn();
  const changed = adapt(answer, model, restorer);
  if (raw !== undefined && !changed) return raw;
  return Buffer.concat(await runInTurns(writeJsonInSteps(answer)));
}

/** Changes the answer to what the caller gets; false where it is that already. */
function adapt(answer: JsonObject, model: string, restorer: (() => TextRestorer) | undefined): boolean {
  let changed = false;
  const named = otherModel(model, answer.model) ?? model;
  if (answer.model !== named) {
    answer.model = named;
    changed = true;
  }
  if (answer.object !== "chat.completion") {
    answer.object = "chat.completion";
    changed = true;
  }
  for (const message of messagesOf(answer)) {
    if (message.content == null) {
      const reasoning = typeof message.reasoning === "string" ? message.reasoning : message.reasoning_content;
      if (typeof reasoning === "string" && reasoning !== "") {
        message.content = reasoning;
        changed = true;
      }
    }
    if (restorer !== undefined && typeof message.content === "string") {
      const restore = restorer();
      message.content = restore.push(message.content) + restore.flush();
      changed = true;
    }
  }
  return changed;
}

/** An answer that says nothing and calls nothing, although it claims to have stopped of its own accord. */
export function isEmptyAnswer(answer: JsonObject): boolean {
  if (Array.isArray(answer.choices) && answer.choices.some(endedByLimit)) return false;
  return messagesOf(answer).every((message) => {
    const calls = message.tool_calls;
    return (
      !message.content &&
      !message.reasoning &&
      !message.reasoning_content &&
      !message.refusal &&
      !message.function_call &&
      !(Array.isArray(calls) && calls.length > 0)
    );
  });
}

function messagesOf(answer: JsonObject): JsonObject[] {
  const messages: JsonObject[] = [];
  if (!Array.isArray(answer.choices)) return messages;
  for (const choice of answer.choices) {
    const message = isObject(choice) ? choice.message : undefined;
    if (isObject(message)) messages.push(message);
  }
  return messages;
}
