import { isObject, type JsonObject } from "#domain/chat.ts";
import { otherModel } from "#domain/model-names.ts";
import type { RequestContext } from "#pipeline/request-context.ts";
import type { OpenAttempt } from "#pipeline/settle/attempt.ts";
import type { AnswerEnd } from "#pipeline/settle/settle.ts";
import type { RedactedBody } from "#privacy/redaction.ts";
import type { UpstreamAnswer } from "#upstream/upstream.ts";
import { guardAnswer } from "./guard-answer.ts";

type Restorer = Pick<NonNullable<RedactedBody["restore"]>, "stream">;

/** A whole answer as the caller gets it, as JSON text, with what its settlement needs. */
export function wholeAnswer(
  attempt: OpenAttempt,
  { answer, raw, report }: Extract<UpstreamAnswer, { kind: "answer" }>,
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
 * (`raw`). Changes the object it is given.
 */
function finishAnswer(answer: JsonObject, raw: string, model: string, restore?: Restorer): string {
  let isChanged = answer.model !== model || answer.object !== "chat.completion";
  answer.model = model;
  answer.object = "chat.completion";
  for (const message of messagesOf(answer)) {
    if (message.content == null) {
      const reasoning = typeof message.reasoning === "string" ? message.reasoning : message.reasoning_content;
      if (typeof reasoning === "string" && reasoning !== "") {
        message.content = reasoning;
        isChanged = true;
      }
    }
    if (restore !== undefined && typeof message.content === "string") {
      const stream = restore.stream();
      message.content = stream.push(message.content) + stream.flush();
      isChanged = true;
    }
  }
  return isChanged ? JSON.stringify(answer) : raw;
}

/** An answer that says nothing and calls nothing, although it claims to have stopped of its own accord. */
function isEmptyAnswer(answer: JsonObject): boolean {
  if (Array.isArray(answer.choices) && answer.choices.some(endedByLimit)) return false;
  return !messagesOf(answer).some((message) => hasAnswer(message));
}

/** Whether a message or a delta says something, or calls something, in one of these members. */
export function hasAnswer(message: JsonObject, names: readonly string[] = answers): boolean {
  return names.some((name) => {
    const value = message[name];
    return Array.isArray(value) ? value.length > 0 : Boolean(value);
  });
}

const answers = ["content", "tool_calls", "reasoning", "reasoning_content", "refusal", "function_call"] as const;

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
