import { type ChatMessage, isSystemRole, type JsonObject, type MessageRole } from "#domain/chat.ts";
import { wordsOfUser } from "#pipeline/assess/run-signals/calls/user-words.ts";
import { type RunSteps, runStepsFrom, type Spoken } from "#pipeline/assess/run-signals/run-steps.ts";
import { askIn, isContinuePrompt } from "./ask.ts";
import type { Conversation } from "./conversation-types.ts";
import { harnessTurnIn } from "./harness-turn.ts";
import { offeredTools } from "./offered-tools.ts";
import { readAsk } from "./read-ask.ts";
import { asksForHighReasoning } from "./reasoning-marker.ts";
import { labelledTaskIn, taskInSummary } from "./templates.ts";
import { textOf, windowOf } from "./text-window.ts";

/** Characters of the newest user message that are read: the head and the tail. */
const askHead = 12_000;
const askTail = 4_000;
/** How many messages are searched backwards for the newest ask. Only runs that went wrong are longer. */
const maxMessagesSearched = 1_000;
/** How many results by which the user has spoken are read, from the newest back. */
const maxSpoken = 8;

export function conversationOf(body: JsonObject & { messages: ChatMessage[] }): Conversation {
  const { messages } = body;
  const roles = messages.map(({ role }) => role);
  const said = withWordsInRun(newestAsk(messages, roles), messages);
  const { ask, subject, calls, results, newest, goesOn } = said;
  let systemText: string | undefined;
  const system = () => {
    systemText ??= systemTextOf(messages);
    return systemText;
  };
  return {
    ask,
    subject,
    asksForHighReasoning: carriesMarker(newest),
    calls,
    results,
    inRun: goesOn || results.length > 0,
    // Read when somebody asks for it: an agent's is long, and known by its bytes.
    get system() {
      return windowOf(system(), 3_000, 0);
    },
    get systemLength() {
      return system().length;
    },
    newest: windowOf(newest, 1_200, 600),
    closing: closingOf(messages, roles),
    turns: turnsIn(roles),
    usedTools: roles.includes("tool"),
    tools: offeredTools(body["tools"], body["functions"]),
  };
}

interface NewestAsk {
  readonly ask: string;
  readonly subject: string;
  /** Index of the ask's message; -1 when no user has spoken. */
  readonly at: number;
  /** The newest user message, whole. */
  readonly newest: string;
  /** Whether something stands behind the ask that a program has written in the user's role. */
  readonly goesOn: boolean;
}

/** The newest user message that says something of the user's own; the newest at all when none does. */
function newestAsk(messages: readonly ChatMessage[], roles: readonly MessageRole[]): NewestAsk {
  const oldest = Math.max(0, messages.length - maxMessagesSearched);
  let newest: { text: string; at: number } | undefined;
  let found: { ask: string; at: number } | undefined;
  let first = -1;
  for (let at = messages.length - 1; at >= oldest; at--) {
    if (roles[at] !== "user") continue;
    first = at;
    const text = textOf(messages[at]?.["content"]);
    newest ??= { text, at };
    const { ask, compacts, continues } = readAsk(windowOf(text, askHead, askTail), messages.length);
    if (ask === "" || compacts) continue;
    found ??= { ask, at };
    if (continues) continue;
    return { ...found, subject: ask, newest: newest.text, goesOn: found.at < newest.at };
  }
  if (newest === undefined) return { ask: "", subject: "", at: -1, newest: "", goesOn: false };
  const summedUp = taskBehind(messages, first);
  if (found === undefined) {
    // A harness has written all there is: its label may still say what the user wants.
    const shown = windowOf(newest.text, askHead, askTail).trim();
    const task = labelledTaskIn(shown);
    found =
      task === undefined && summedUp !== undefined
        ? { ask: summedUp, at: first }
        : { ask: task ?? shown, at: newest.at };
  }
  const goesOn = found.at < newest.at;
  return { ...found, subject: summedUp ?? found.ask, newest: newest.text, goesOn };
}

/** The task of a conversation that was compacted: opencode and Kilo Code put a question and a summary in the place of what was said. */
function taskBehind(messages: readonly ChatMessage[], at: number): string | undefined {
  const next = messages[at + 1];
  return next?.role === "assistant" ? taskInSummary(windowOf(textOf(next["content"]), askHead, 0)) : undefined;
}

interface AskWithRun extends RunSteps, Omit<NewestAsk, "at"> {}

/** The ask with the run since, and with what the user has said by results of tools: the next ask, or answers that belong to this one. */
function withWordsInRun(said: NewestAsk, messages: readonly ChatMessage[]): AskWithRun {
  const { at, newest, ask, subject, goesOn } = said;
  const run = runStepsFrom(messages, at + 1);
  const { calls, results } = run;
  let known: AskWithRun = { ask, subject, newest, goesOn, calls, results };
  for (const spoken of run.spoken.slice(-maxSpoken)) known = afterWords(known, spoken, run, messages);
  return known;
}

function afterWords(before: AskWithRun, spoken: Spoken, run: RunSteps, messages: readonly ChatMessage[]): AskWithRun {
  const words = wordsAt(messages, spoken.at);
  if (words === "") return before;
  if (spoken.words === "answers") {
    if (isContinuePrompt(words)) return before;
    const subject = windowOf(`${before.subject}\n${words}`, askHead, askTail);
    return { ...before, subject };
  }
  const subject = isContinuePrompt(words) ? before.subject : words;
  const since = { calls: run.calls.slice(spoken.calls), results: run.results.slice(spoken.results) };
  return { ...since, ask: words, subject, newest: words, goesOn: false };
}

function wordsAt(messages: readonly ChatMessage[], at: number): string {
  const text = textOf(messages[at]?.["content"]);
  const turn = messages[at]?.role === "user" ? harnessTurnIn(text) : undefined;
  return askIn(wordsOfUser(turn?.kind === "result" ? turn.text : text)).trim();
}

/** A marker inside what a tool or the harness has put there is not the user's, and costs nobody money. */
function carriesMarker(newest: string): boolean {
  if (!asksForHighReasoning(newest) || harnessTurnIn(newest) !== undefined) return false;
  const own = askIn(newest);
  return own === "" || asksForHighReasoning(own);
}

/** Messages by users and assistants. A loop: a function for each of hundreds of messages takes ten times as long. */
function turnsIn(roles: readonly MessageRole[]): number {
  let turns = 0;
  for (const role of roles) if (role === "user" || role === "assistant") turns += 1;
  return turns;
}

function closingOf(messages: readonly ChatMessage[], roles: readonly MessageRole[]): string {
  const last = messages.length - 1;
  if (last < 1 || !isSystemRole(roles[last])) return "";
  const text = textOf(messages[last]?.["content"]);
  // The result of a tool is no instruction, whatever it says.
  return harnessTurnIn(text) === undefined ? windowOf(text, 1_200, 600) : "";
}

function systemTextOf(messages: readonly ChatMessage[]): string {
  const first = messages[0];
  return isSystemRole(first?.role) ? textOf(first?.["content"]) : "";
}
