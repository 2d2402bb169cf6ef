import { memoizeByMessage } from "#domain/known-message.ts";
import type { TaskKind } from "#domain/routing.ts";
import type { Conversation } from "./envelope/conversation.ts";
import { textOf } from "./envelope/text-window.ts";

/**
 * How points become a score. `chat`: the share of asks with fewer points. `agent`: the same for software work in an agent, kept below
 * the gray zone, because the words of such an ask say nothing of whether its run will go wrong. `declared`: a task whose dimensions somebody has stated, which are not distributed like inferred ones.
 */
export type ScoreScale = "declared" | "chat" | "agent";

/** Kinds of work that are no work on software. */
const chatKinds: ReadonlySet<TaskKind> = new Set(["OTHER", "SUMMARIZE", "CLASSIFY", "RESEARCH", "PUBLIC_REVIEW"]);

/** What instructions say that set a model to work on software. */
const agentWords =
  /\b(?:shell|terminal|bash|command line|coding|programming|software|code ?base|repository|workspace)\b/i;
const readsLikeAgent = memoizeByMessage(({ content }) => agentWords.test(textOf(content).slice(0, 8_000)));
/** Characters around an ask from which on they are instructions. */
const instructions = 400;

/** The scale for a task inferred from a conversation. */
export function scaleFor(
  kind: TaskKind,
  { tools, system, newest, ask }: Pick<Conversation, "tools" | "system" | "newest" | "ask">,
  repoContext: boolean,
): ScoreScale {
  if (repoContext || (system && readsLikeAgent(system))) return "agent";
  if (newest && textOf(newest.content).length > ask.length + instructions && readsLikeAgent(newest)) return "agent";
  return tools.count > 0 && !chatKinds.has(kind) ? "agent" : "chat";
}
