import type { TaskKind } from "#domain/routing.ts";

/**
 * How points become a score. `chat`: the share of asks with fewer points. `agent`: the same for software work in an agent, kept below
 * the gray zone, because the words of such an ask say nothing of whether its run will go wrong: only the run's trouble leads from
 * there. `declared`: a task whose dimensions somebody has stated, which are not distributed like inferred ones.
 */
export type ScoreScale = "declared" | "chat" | "agent";

/** Kinds of work that are no work on software. */
const chatKinds: ReadonlySet<TaskKind> = new Set(["OTHER", "SUMMARIZE", "CLASSIFY", "RESEARCH", "PUBLIC_REVIEW"]);

/** The scale for a task inferred from a conversation. */
export function scaleFor(
  kind: TaskKind,
  work: { readonly toolsOffered: boolean; readonly repoContext: boolean },
): ScoreScale {
  return work.repoContext || (work.toolsOffered && !chatKinds.has(kind)) ? "agent" : "chat";
}
