import { isObject, type JsonObject } from "#domain/chat.ts";
import { otherModel } from "#domain/model-names.ts";
import { withoutKey } from "#pipeline/execute/execute.ts";
import type { Ports } from "#pipeline/ports.ts";
import type { RequestContext } from "#pipeline/request-context.ts";
import type { OpenAttempt } from "#pipeline/settle/attempt.ts";
import type { AnswerEnd } from "#pipeline/settle/settle.ts";
import type { RedactedBody } from "#privacy/redaction.ts";
import type { UpstreamAnswer } from "#upstream/upstream.ts";
import { completionIdentity, statedIdentity } from "./completion-identity.ts";

type Restorer = Pick<NonNullable<RedactedBody["restore"]>, "stream">;

/** A whole answer as the caller gets it, as JSON text, with what its settlement needs. */
export function wholeAnswer(
  attempt: OpenAttempt,
  { answer, raw, report, isEmpty }: Extract<UpstreamAnswer, { kind: "answer" }>,
  { configuration, redacted, recorder }: RequestContext,
  ports: Ports,
): AnswerEnd & { readonly body: string } {
  const other = otherModel(attempt.model.upstreamId, answer.model);
  const names = {
    ...completionIdentity(recorder.decisionId, ports),
    ...statedIdentity(answer),
    object: "chat.completion",
    model: other ?? attempt.model.upstreamId,
  };
  const body = withoutKey(finishAnswer(answer, raw, names, redacted.restore), configuration);
  return { kind: "complete", report, empty: isEmpty, otherModel: other, body };
}

/**
 * A whole answer as JSON text: the upstream's object under these names; where a message has reasoning and no content
 * (null or absent), the reasoning becomes the content. An answer that needs no change leaves as the very text it came
 * in (`raw`). Changes the object it is given.
 */
function finishAnswer(answer: JsonObject, raw: string, names: JsonObject, restore?: Restorer): string {
  let isChanged = Object.entries(names).some(([name, value]) => answer[name] !== value);
  if (isChanged) Object.assign(answer, names);
  for (const choice of Array.isArray(answer.choices) ? answer.choices : []) {
    const message = isObject(choice) ? choice.message : undefined;
    if (!isObject(message)) continue;
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
