import type { ChatMessage } from "#domain/chat.ts";
import { memoizeByMessage } from "#domain/known-message.ts";
import type { Conversation } from "./conversation.ts";
import { textOf } from "./text-window.ts";

/** Messages looked at for diffs, newest first, and characters of each. */
const messagesSearched = 32;
const charactersSearched = 20_000;

const agentPrompt =
  /\b(?:aider|cline|roo code|opencode|claude code|codex cli|cursor|github copilot|openhands|swe-agent|goose)\b|SEARCH\/REPLACE|\b(?:working directory|codebase|repository|workspace)\b/i;
/** A path to a file of code, with folders. */
const pathOfCode =
  /(?:^|[\s`"'(])(?:\.{0,2}\/)?(?:[\w.@-]{1,60}\/){1,12}[\w.-]{1,80}\.(?:[cm]?[jt]sx?|py|rs|go|java|kts?|rb|php|cs|cpp|cc|hpp|swift|scala|sql|sh|ya?ml|toml|tf|vue|svelte)\b/;

/**
 * Whether a request carries a repository with it: file tools, a coding agent's system prompt, a diff, or files named by
 * path in the ask. Free models are barred from such work unless it is opted in, so in doubt it is one.
 */
export function repoContextIn(conversation: Conversation, messages: readonly ChatMessage[]): boolean {
  const { tools, run, ask, system } = conversation;
  if (tools.workInRepository) return true;
  if (run.some((step) => step.kind === "result" && step.observation.call.worksInRepository)) return true;
  if (system !== undefined && isAgentPrompt(system)) return true;
  const beginning = ask.slice(0, 2_000);
  if (beginning.includes("/") && pathOfCode.test(beginning)) return true;
  return messages.slice(-messagesSearched).some(holdsDiff);
}

const isAgentPrompt = memoizeByMessage(({ content }) => agentPrompt.test(textOf(content).slice(0, 3_000)));

const holdsDiff = memoizeByMessage(({ content }) => {
  const text = textOf(content).slice(0, charactersSearched);
  return text.includes("diff --git ") || text.includes("\n@@ -") || text.includes("\n+++ b/");
});
