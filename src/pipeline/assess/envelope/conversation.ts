import { type ChatMessage, isObject, isSystemRole, type Json, type JsonObject } from "#domain/chat.ts";
import { memoizeByMessage } from "#domain/known-message.ts";
import { asksToCompact, readUserMessage } from "#pipeline/assess/run-signals/message-facts.ts";
import { type ResultStep, type RunStep, runStepsFrom } from "#pipeline/assess/run-signals/run-steps.ts";
import { worksInRepository } from "#pipeline/assess/run-signals/tool-call.ts";
import { askIn, isContinuePrompt, labelledTaskIn, taskInSummary } from "./ask.ts";
import { harnessTurnIn } from "./harness-turn.ts";
import { askHead, askTail, textOf, windowOf } from "./text-window.ts";
import { wordsOfUser } from "./user-words.ts";

/** A conversation as assessing reads it. */
export interface Conversation {
  /** What the user wants now, without what the harness wrapped around it: a window, however long the message is. */
  readonly ask: string;
  /** What the work is about: the ask, or the one before it when the ask says only to go on. */
  readonly subject: string;
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
/** How many results by which the user has spoken are read, from the newest back. */
const maxSpoken = 8;
/** Messages from which on a conversation has something to be compacted: an ask, its answer and the request. */
const longConversation = 3;

export function conversationOf(body: JsonObject & { messages: ChatMessage[] }): Conversation {
  const { messages } = body;
  const said = withWordsInRun(newestAsk(messages), messages);
  const first = messages[0];
  return {
    ...said,
    asksForHighReasoning: said.newest !== undefined && readUserMessage(said.newest).facts.asksForHighReasoning,
    inRun: said.goesOn || said.run.some(({ kind }) => kind === "result"),
    system: isSystemRole(first?.role) ? first : undefined,
    tools: offeredTools(body["tools"] ?? body["functions"]),
  };
}

interface NewestAsk {
  readonly ask: string;
  readonly subject: string;
  /** Index of the ask's message; -1 when no user has spoken. */
  readonly at: number;
  readonly newest: ChatMessage | undefined;
  /** Whether something stands behind the ask that a program has written in the user's role. */
  readonly goesOn: boolean;
}

/** The newest user message that says something of the user's own; the newest at all when none does. */
function newestAsk(messages: readonly ChatMessage[]): NewestAsk {
  const oldest = Math.max(0, messages.length - maxMessagesSearched);
  let newest = -1;
  let found = -1;
  let first = -1;
  for (let at = messages.length - 1; at >= oldest; at--) {
    const message = messages[at];
    if (message?.role !== "user") continue;
    first = at;
    if (newest < 0) newest = at;
    const { facts, ask: own } = readUserMessage(message);
    if (facts.isEmpty || (messages.length >= longConversation && asksToCompact(message))) continue;
    if (found < 0) found = at;
    if (facts.continues) continue;
    const subject = own ?? askOf(message);
    const ask = found === at ? subject : askOf(messages[found]);
    return { ask, subject, at: found, newest: messages[newest], goesOn: found < newest };
  }
  if (newest < 0) return { ask: "", subject: "", at: -1, newest: undefined, goesOn: false };
  // Agents put a question and a summary in the place of a conversation that had grown too long.
  const next = messages[first + 1];
  const summedUp = next?.role === "assistant" ? taskInSummary(shownOf(next)) : undefined;
  let ask = found < 0 ? "" : askOf(messages[found]);
  if (found < 0) {
    // A harness has written all there is: its label may still say what the user wants.
    const shown = shownOf(messages[newest]).trim();
    const task = labelledTaskIn(shown);
    ask = task ?? summedUp ?? shown;
    found = task === undefined && summedUp !== undefined ? first : newest;
  }
  return { ask, subject: summedUp ?? ask, at: found, newest: messages[newest], goesOn: found < newest };
}

function shownOf(message: ChatMessage | undefined): string {
  return windowOf(textOf(message?.["content"]), askHead, askTail);
}

function askOf(message: ChatMessage | undefined): string {
  return askIn(shownOf(message));
}

type AskWithRun = Omit<NewestAsk, "at"> & Pick<Conversation, "run">;

/** The ask with the run since, and with what the user has said by results of tools: the next ask, or answers that belong to this one. */
function withWordsInRun({ at, ...said }: NewestAsk, messages: readonly ChatMessage[]): AskWithRun {
  const run = at + 1 < messages.length ? runStepsFrom(messages, at + 1) : [];
  const spoken = run.filter(
    (step): step is ResultStep => step.kind === "result" && step.observation.user !== undefined,
  );
  let known: AskWithRun = { ...said, run };
  for (const step of spoken.slice(-maxSpoken)) {
    const words = wordsIn(messages[step.at]);
    if (words === "") continue;
    const goesOn = isContinuePrompt(words);
    if (step.observation.user === "asks") {
      const since = run.filter((each) => each.at > step.at);
      known = { ...known, ask: words, subject: goesOn ? known.subject : words, run: since, goesOn: false };
    } else if (!goesOn) known = { ...known, subject: windowOf(`${known.subject}\n${words}`, askHead, askTail) };
  }
  return known;
}

function wordsIn(message: ChatMessage | undefined): string {
  const text = textOf(message?.["content"]);
  return askIn(wordsOfUser((message?.role === "user" ? harnessTurnIn(text)?.text : undefined) ?? text));
}

/** So many tools are looked at. */
const maxTools = 256;
/** A tool that does nothing: a program reads its arguments as the answer, in the form of a schema. */
const answerTool = "respond_in_schema";

/** What a request offers, in the new style or the old. */
function offeredTools(tools: Json | undefined): Conversation["tools"] {
  if (!Array.isArray(tools)) return { count: 0, workInRepository: false };
  let count = 0;
  let workInRepository = false;
  for (const tool of tools.slice(0, maxTools)) {
    if (!isObject(tool)) continue;
    const inner = isObject(tool["function"]) ? tool["function"] : isObject(tool["custom"]) ? tool["custom"] : tool;
    const name = inner["name"];
    if (typeof name !== "string" || name === answerTool) continue;
    count += 1;
    workInRepository ||= worksInRepository(name);
  }
  return { count, workInRepository };
}

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
