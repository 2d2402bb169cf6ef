import type { ChatMessage } from "#domain/chat.ts";
import { remembered } from "#platform/keyed-memory/remembered.ts";
import { holdsPatch } from "./blocks.ts";
import type { Conversation } from "./conversation-types.ts";
import { textOf } from "./text-window.ts";

/** Messages looked at for diffs, newest first, and characters of each. */
const messagesSearched = 32;
const charactersSearched = 20_000;

const agentPrompt =
  /\b(?:aider|cline|roo code|opencode|claude code|codex cli|cursor|github copilot|openhands|swe-agent|goose)\b|SEARCH\/REPLACE|\b(?:working directory|codebase|repository|workspace)\b/i;
const isAgentPrompt = remembered(
  (system) => agentPrompt.test(system),
  262_144,
  () => 0,
);
/** A path to a file of code, with folders. */
const pathOfCode =
  /(?:\.{0,2}\/)?(?:[\w.@-]{1,60}\/){1,12}[\w.-]{1,80}\.(?:[cm]?[jt]sx?|py|rs|go|java|kts?|rb|php|cs|cpp|cc|hpp|swift|scala|sql|sh|ya?ml|toml|tf|vue|svelte)\b/y;
/** 1 for the characters of paths. */
const inPath = Uint8Array.from({ length: 128 }, (_, code) => (/[\w./@-]/.test(String.fromCharCode(code)) ? 1 : 0));
const beforePath = /[\s`"'(]/;

/**
 * Whether a request carries a repository with it: file tools, a coding agent's system prompt, a diff, or files named by
 * path in the ask. Free models are barred from such work unless it is opted in, so in doubt it is one.
 */
export function repoContextIn(conversation: Conversation, messages: readonly ChatMessage[]): boolean {
  const { tools, calls, ask } = conversation;
  if (tools.workInRepository || calls.some((call) => call.worksInRepository)) return true;
  if (isAgentPrompt(conversation.system)) return true;
  const beginning = ask.slice(0, 2_000);
  if (namesPathOfCode(beginning)) return true;
  for (let at = Math.max(0, messages.length - messagesSearched); at < messages.length; at++) {
    if (hasDiff(textOf(messages[at]?.["content"]).slice(0, charactersSearched))) return true;
  }
  return false;
}

/** Whether such a path stands in a text, behind a blank, a quote or a bracket. Only where a slash is, the pattern is tried. */
function namesPathOfCode(text: string): boolean {
  for (let at = text.indexOf("/"); at >= 0; ) {
    let start = at;
    while (start > 0 && inPath[text.charCodeAt(start - 1)] === 1) start--;
    if (start === 0 || beforePath.test(text.charAt(start - 1))) {
      pathOfCode.lastIndex = start;
      if (pathOfCode.test(text)) return true;
    }
    while (inPath[text.charCodeAt(at)] === 1) at++;
    at = text.indexOf("/", at);
  }
  return false;
}

function hasDiff(text: string): boolean {
  return (
    holdsPatch(text) ||
    (text.includes("@") && text.includes("@@ -") && text.includes("\n@@ -")) ||
    (text.includes("+") && text.includes("+++ b/") && text.includes("\n+++ b/"))
  );
}
