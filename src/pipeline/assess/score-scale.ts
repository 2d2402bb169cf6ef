import type { TaskKind } from "#domain/routing.ts";

/**
 * How points become a score. `chat` and `agent` are quantiles: a score of 85 says that 85 of 100 asks of that sort have fewer
 * points. `declared` is for a task whose dimensions somebody has stated, which are not distributed like inferred ones.
 */
export type ScoreScale = "declared" | "chat" | "agent";

/** Kinds of work that are no work on software: such asks are measured against each other. */
const chatKinds: ReadonlySet<TaskKind> = new Set(["OTHER", "SUMMARIZE", "CLASSIFY", "RESEARCH", "PUBLIC_REVIEW"]);

/**
 * The scale for a task inferred from a conversation: by what is asked, not by who asks. The same words have to come out the
 * same in any envelope, with tools and without.
 */
export function scaleFor(kind: TaskKind): ScoreScale {
  return chatKinds.has(kind) ? "chat" : "agent";
}
