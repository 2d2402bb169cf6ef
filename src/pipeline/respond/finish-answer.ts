import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import { endedByLimit } from "#pipeline/execute/caller-faults/caller-faults.ts";
import { largeBodyBytes, largeWorkTurn, runInTurns } from "#platform/event-loop-turns.ts";
import { writeJsonInSteps } from "#platform/json/json-in-steps.ts";
import type { TextRestorer } from "./text-restorer.ts";

/**
 * A whole answer as the caller gets it, as JSON text: the upstream's object under the name `model`; where a message has reasoning and no
 * content (null or absent), the reasoning becomes the content. An answer that needs no change leaves as the very text it came in
 * (`raw`), and so does all of it but the name where nothing else changes. Changes the object it is given.
 */
export function finishAnswer(answer: JsonObject, raw: string, model: string, restorer?: () => TextRestorer): string {
  const said = answer.model;
  return unwritten(raw, said, model, adapt(answer, model, restorer)) ?? JSON.stringify(answer);
}

/** The same for an answer of megabytes, in turns of the event loop. Without `raw` it is written anew. */
export async function finishLargeAnswer(
  answer: JsonObject,
  raw: string | undefined,
  model: string,
  restorer?: () => TextRestorer,
): Promise<string | Uint8Array> {
  await largeWorkTurn();
  const said = answer.model;
  const change = adapt(answer, model, restorer);
  const text = raw === undefined ? undefined : unwritten(raw, said, model, change);
  return text ?? Buffer.concat(await runInTurns(writeJsonInSteps(answer)));
}

/** What has changed of an answer: at most its name of the model, or something else too. */
type Change = "nothing" | "model" | "more";

/** The text of an answer that need not be written anew for what has changed; undefined where it must be. */
function unwritten(raw: string, said: Json | undefined, model: string, change: Change): string | undefined {
  if (change === "nothing") return raw;
  return change === "model" && typeof said === "string" ? withModel(raw, said, model) : undefined;
}

/**
 * The text of an answer whose `model` is `said`, with another name in its place. Undefined where the member is not found for certain:
 * it has to stand before everything that is nested in the answer, and no other may have its name, in whatever spelling.
 */
function withModel(raw: string, said: string, model: string): string | undefined {
  if (raw.length > largeBodyBytes) return undefined;
  const at = raw.indexOf(modelKey);
  if (at < 0 || raw.includes(modelKey, at + 1) || raw.includes(escapedLetter)) return undefined;
  if (!/^\s*\{(?:[^{[]*,)?\s*$/.test(raw.slice(0, at))) return undefined;
  const value = JSON.stringify(said);
  const from = raw.indexOf('"', at + modelKey.length);
  const isMember = /^\s*:\s*$/.test(raw.slice(at + modelKey.length, from)) && raw.startsWith(value, from);
  return isMember ? raw.slice(0, from) + JSON.stringify(model) + raw.slice(from + value.length) : undefined;
}

const modelKey = '"model"';
/** With what a letter of the key would begin that is written as an escape sequence. */
const escapedLetter = "\\u006";

/** Changes the answer to what the caller gets. */
function adapt(answer: JsonObject, model: string, restorer: (() => TextRestorer) | undefined): Change {
  let change: Change = "nothing";
  if (answer.model !== model) {
    answer.model = model;
    change = "model";
  }
  if (answer.object !== "chat.completion") {
    answer.object = "chat.completion";
    change = "more";
  }
  for (const message of messagesOf(answer)) {
    if (message.content == null) {
      const reasoning = typeof message.reasoning === "string" ? message.reasoning : message.reasoning_content;
      if (typeof reasoning === "string" && reasoning !== "") {
        message.content = reasoning;
        change = "more";
      }
    }
    if (restorer !== undefined && typeof message.content === "string") {
      const restore = restorer();
      message.content = restore.push(message.content) + restore.flush();
      change = "more";
    }
  }
  return change;
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
