import { type ChatMessage, isObject, isSystemRole, type Json, type JsonObject } from "#domain/chat.ts";
import { memoize, memoizeByMessage } from "#domain/message-memo.ts";
import { type RunStep, runStepsFrom } from "#pipeline/assess/run/run-steps.ts";
import { kindOfTool } from "#pipeline/assess/run/tool-call.ts";
import { asksToCompact } from "./housekeeping.ts";
import { textOf } from "./text.ts";
import { isTurnOfHarness, readUserMessage, wordsOf } from "./user-message.ts";

/** A conversation as assessing reads it. */
export interface Conversation {
  /** What the user wants now, without what the harness wrapped around it: a window, however long the message is. */
  readonly ask: string;
  /** What the work is about: the ask, or the one before it when the ask says only to go on. */
  readonly subject: string;
  /** What stands in blocks beside the subject: code, or a text that something is to be done with. */
  readonly attached: string;
  /** Whether the newest user message, in the user's own words, carries `[reasoning:high]`. */
  readonly asksForHighReasoning: boolean;
  /** The run since the ask, oldest step first. */
  readonly run: readonly RunStep[];
  /** Whether the model is in the middle of an agent's run: calls have been answered since the ask. */
  readonly inRun: boolean;
  /** The system prompt, and the newest user message; undefined where there is none. */
  readonly system: ChatMessage | undefined;
  readonly newest: ChatMessage | undefined;
  /** Tools offered that have a name, and whether one of them reads or changes files, or runs commands. */
  readonly tools: { readonly count: number; readonly workInRepository: boolean };
}

/** How many messages are searched backwards for the newest ask. Only runs that went wrong are longer. */
const maxMessagesSearched = 1_000;
/** Messages from which on a conversation has something to be compacted: an ask, its answer and the request. */
const longConversation = 3;

export function conversationOf(body: JsonObject & { messages: ChatMessage[] }): Conversation {
  const { messages } = body;
  const { at, ...said } = newestAsk(messages);
  const run = at + 1 < messages.length ? runStepsFrom(messages, at + 1) : [];
  const newest = messages.findLastIndex(({ role }) => role === "user");
  const first = messages[0];
  const tools = body["tools"] ?? body["functions"];
  return {
    ...said,
    run,
    newest: messages[newest],
    asksForHighReasoning: marksHighReasoning(messages, newest),
    inRun: at < newest || run.some(({ kind }) => kind === "result"),
    system: isSystemRole(first?.role) ? first : undefined,
    tools: offeredTools(Array.isArray(tools) ? tools : noTools),
  };
}

/** Whether the newest user message carries the marker; in one that a harness has written it costs nobody money. */
function marksHighReasoning(messages: readonly ChatMessage[], newest: number): boolean {
  const message = messages[newest];
  if (message === undefined || !readUserMessage(message).facts.asksForHighReasoning) return false;
  return !isTurnOfHarness(messages, newest);
}

/**
 * The newest user message that says something of the user's own; else the newest. `at` is -1 when no user has spoken.
 */
function newestAsk(
  messages: readonly ChatMessage[],
): Pick<Conversation, "ask" | "subject" | "attached"> & { at: number } {
  const oldest = Math.max(0, messages.length - maxMessagesSearched);
  let newest = -1;
  let found = -1;
  for (let at = messages.length - 1; at >= oldest; at--) {
    const message = messages[at];
    if (message?.role !== "user") continue;
    if (newest < 0) newest = at;
    const { facts, words: own } = readUserMessage(message);
    if (facts.isEmpty || isTurnOfHarness(messages, at)) continue;
    if (messages.length >= longConversation && at === newest && asksToCompact(message)) continue;
    if (found < 0) found = at;
    if (facts.continues) continue;
    const { ask: subject, attached } = own ?? wordsOf(message);
    return { ask: found === at ? subject : wordsOf(messages[found]).ask, subject, attached, at: found };
  }
  const at = found < 0 ? newest : found;
  const { ask, inside } = wordsOf(messages[at]);
  return { ask: ask || inside, subject: ask || inside, attached: "", at };
}

/** So many tools are looked at. */
const maxTools = 256;

/** What a request offers, in the new style or the old. */
const offeredTools = memoize((tools: readonly Json[]): Conversation["tools"] => {
  const names = tools.slice(0, maxTools).flatMap((tool) => {
    const { function: called, custom } = isObject(tool) ? tool : {};
    const name = [called, custom, tool].find(isObject)?.["name"];
    return typeof name === "string" ? [name] : [];
  });
  return { count: names.length, workInRepository: names.some((name) => kindOfTool(name).worksInRepository) };
});
const noTools: readonly Json[] = [];

/** Messages looked at for diffs, newest first, and characters of each. */
const messagesSearched = 32;
const charactersSearched = 20_000;

/** What instructions say that are about files. */
const agentPrompt =
  /\b(?:working director(?:y|ies)|code ?base|repositor(?:y|ies)|workspace|source (?:code|files?)|SEARCH\/REPLACE)\b/i;
const extensions = new Set(
  "js jsx mjs cjs ts tsx mts cts py rs go java kt kts rb php cs cpp cc hpp swift scala sql sh yaml yml toml tf vue svelte".split(
    " ",
  ),
);

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
  if (beginning.includes("/") && beginning.split(/[\s`"'()]/).some(isPathOfCode)) return true;
  return messages.slice(-messagesSearched).some(holdsDiff);
}

/** A path to a file of code, with folders. */
function isPathOfCode(word: string): boolean {
  const dot = word.lastIndexOf(".");
  const slash = word.indexOf("/");
  if (slash < 0 || dot < slash || word.includes("://")) return false;
  return extensions.has(word.slice(dot + 1).replace(/[:,;?!#].{0,40}$/, ""));
}

const isAgentPrompt = memoizeByMessage(({ content }) => agentPrompt.test(textOf(content).slice(0, 3_000)));

const holdsDiff = memoizeByMessage(({ content }) => {
  const text = textOf(content).slice(0, charactersSearched);
  return text.includes("diff --git ") || text.includes("\n@@ -") || text.includes("\n+++ b/");
});
