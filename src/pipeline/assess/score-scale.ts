import type { Conversation } from "./conversation/conversation.ts";
import { textOf } from "./conversation/text.ts";

/**
 * How points become a score. `chat`: the share of asks with fewer points. `agent`: the same for a program that has
 * instructed the model or offers tools, kept below the gray zone, as an ask's words do not say how its run will go.
 * `declared`: somebody has stated the dimensions, which are not distributed like inferred ones.
 */
export type ScoreScale = "declared" | "chat" | "agent";

/** Characters of a system prompt from which on they are a program's instructions. */
const instructions = 400;

/** The scale for a task inferred from a conversation. */
export function scaleFor({ tools, system }: Pick<Conversation, "tools" | "system">, repoContext: boolean): ScoreScale {
  if (repoContext || tools.count > 0) return "agent";
  return textOf(system?.content).length > instructions ? "agent" : "chat";
}
