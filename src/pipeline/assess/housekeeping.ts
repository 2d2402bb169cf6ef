import type { ChatRequest } from "#domain/chat.ts";
import type { Assessment } from "./assess.ts";

/** Titles, commit messages and labels are short; an answer that may be longer than this is somebody's work. */
const shortAnswerTokens = 1_024;

/**
 * Whether a request is a call that an agent makes for itself (a title, a commit message, a summary): it offers no tools, and
 * it summarizes, classifies, or allows a short answer only. The one place that says what counts as housekeeping.
 */
export function isHousekeeping(
  { body, requestedOutputTokens }: Pick<ChatRequest, "body" | "requestedOutputTokens">,
  { task }: Pick<Assessment, "task">,
): boolean {
  if (offers(body["tools"]) || offers(body["functions"])) return false;
  if (task.kind === "SUMMARIZE" || task.kind === "CLASSIFY") return true;
  return requestedOutputTokens !== null && requestedOutputTokens <= shortAnswerTokens;
}

function offers(tools: unknown): boolean {
  return Array.isArray(tools) && tools.length > 0;
}
