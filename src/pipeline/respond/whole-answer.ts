import { isObject, type Json, type JsonObject } from "#domain/chat.ts";
import { otherModel } from "#domain/model-names.ts";
import type { Execution } from "#pipeline/execute/execute.ts";
import type { RequestContext } from "#pipeline/request-context.ts";
import type { AnswerEnd } from "#pipeline/settle/settle.ts";
import type { RedactedBody } from "#privacy/redaction.ts";
import { guardAnswer } from "./guard-answer.ts";

type Restorer = Pick<NonNullable<RedactedBody["restore"]>, "stream">;

/** A whole answer as the caller gets it, as JSON text, with what its settlement needs. */
export function wholeAnswer(
  { attempt, answer, raw, report }: Extract<Execution, { kind: "answered" }>,
  { configuration, redacted }: RequestContext,
): AnswerEnd & { readonly body: string } {
  const isFiltered = guardAnswer(answer, raw, configuration.privacy.answerGuard);
  const empty = isEmptyAnswer(answer);
  const other = otherModel(attempt.model.upstreamId, answer.model);
  const text = isFiltered ? JSON.stringify(answer) : raw;
  const body = finishAnswer(answer, text, other ?? attempt.model.upstreamId, redacted.restore);
  return { kind: "complete", report, empty, otherModel: other, body };
}

/**
 * A whole answer as JSON text: the upstream's object under the name `model`; where a message has reasoning and no
 * content (null or absent), the reasoning becomes the content. An answer that needs no change leaves as the very text it came in
 * (`raw`), and so does all of it but the name where nothing else changes. Changes the object it is given.
 */
export function finishAnswer(answer: JsonObject, raw: string, model: string, restore?: Restorer): string {
  const said = answer.model;
  return unwritten(raw, said, model, adapt(answer, model, restore)) ?? JSON.stringify(answer);
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
function adapt(answer: JsonObject, model: string, restore: Restorer | undefined): Change {
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
    if (restore !== undefined && typeof message.content === "string") {
      const stream = restore.stream();
      message.content = stream.push(message.content) + stream.flush();
      change = "more";
    }
  }
  return change;
}

/** An answer that says nothing and calls nothing, although it claims to have stopped of its own accord. */
function isEmptyAnswer(answer: JsonObject): boolean {
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

/** Whether a choice was ended by something else than the model's own stop: then that it is empty proves nothing. */
export function endedByLimit(choice: unknown): boolean {
  const reason = isObject(choice) ? choice["finish_reason"] : undefined;
  return typeof reason === "string" && reason !== "stop";
}
