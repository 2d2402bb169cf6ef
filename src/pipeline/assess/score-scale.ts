import type { Conversation } from "./conversation/conversation.ts";
import { textOf } from "./conversation/text.ts";

/**
 * How points become a score. `chat`: the share of asks with fewer points. `agent`: the same for a program that has instructed the model
 * or offers tools, kept below the gray zone, because the words of such an ask say nothing of whether its run will go wrong. `declared`: a
 * task whose dimensions somebody has stated, which are not distributed like inferred ones.
 */
export type ScoreScale = "declared" | "chat" | "agent";

/** Characters of a system prompt from which on they are a program's instructions. */
const instructions = 400;

/** The scale for a task inferred from a conversation. */
export function scaleFor({ tools, system }: Pick<Conversation, "tools" | "system">, repoContext: boolean): ScoreScale {
  if (repoContext || tools.count > 0) return "agent";
  return textOf(system?.content).length > instructions ? "agent" : "chat";
}
