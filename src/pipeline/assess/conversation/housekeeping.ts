import { type ChatMessage, isSystemRole } from "#domain/chat.ts";
import { memoizeByMessage } from "#domain/message-memo.ts";
import type { TaskKind } from "#domain/routing.ts";
import { Lexicon } from "#pipeline/assess/ask/lexicon.ts";
import lists from "./housekeeping-words.yaml";
import { textOf, windowOf } from "./text.ts";

/** Calls that an agent or a chat program makes for itself, not for its user's work. */
export type HousekeepingKind = "title" | "commit_message" | "summary" | "labels" | "completion" | "rewrite";

/** The kind of task that a housekeeping call is. */
export const taskKindOf: { readonly [K in HousekeepingKind]: TaskKind } = {
  title: "SUMMARIZE",
  commit_message: "SUMMARIZE",
  summary: "SUMMARIZE",
  labels: "CLASSIFY",
  completion: "CODING",
  rewrite: "OTHER",
};

const { continuing: _, ...words } = lists;
const lexicon = new Lexicon(words);
const kinds = ["title", "commit_message", "summary", "labels", "rewrite"] as const;
/** What an editor writes around the gap that a completion fills, and nobody else. */
const gap = /<\|?(?:fim_prefix|PRE|fim▁begin)\|?>|\[PREFIX\]|\{\{FILL_HERE\}\}/;
/**
 * Longest system prompt of a call that does one small thing, what is read of one, and words within which it is named.
 */
const maxInstructionLength = 4_000;
const systemRead = 1_500;
const instructionReach = 40;
/** A program says what it wants first or last; between stands what it is about. */
const orderHead = 400;
const orderTail = 300;
/** Words within which a message asks to sum up what stands before it. */
const compactReach = 12;
/** A bound on the answer that leaves room for one small thing only. */
const smallAnswerTokens = 512;

interface Call {
  readonly messages: readonly ChatMessage[];
  readonly newest: ChatMessage | undefined;
  readonly system: ChatMessage | undefined;
  readonly requestedOutputTokens: number | null;
}

/**
 * What kind of housekeeping a call without tools is; undefined when it is somebody's work. Its instructions, in a
 * system prompt or at an edge of its one message, name one small thing to be made of a conversation. A wrong guess
 * costs nothing: such asks are small.
 */
export function housekeepingOf({ messages, newest, system, requestedOutputTokens }: Call) {
  const smallAnswer = requestedOutputTokens !== null && requestedOutputTokens <= smallAnswerTokens;
  const text = textOf(newest?.["content"]);
  if (gap.test(text.slice(0, systemRead))) return "completion";
  const order = orderIn(windowOf(text, orderHead, orderTail));
  const isBare = smallAnswer || order.isBare;
  const instruction = system && instructionOf(system);
  if (instruction?.kind !== undefined && (isBare || instruction.isBare)) return instruction.kind;
  const own = messages.filter(({ role }) => !isSystemRole(role)).length;
  const last = messages.at(-1);
  // The program's own words behind the conversation, or a message that is the whole of it.
  const closing = own > 0 && last !== undefined && isSystemRole(last.role) ? instructionOf(last).kind : undefined;
  return closing ?? (order.isAboutTalk && (isBare || (own === 1 && instruction?.isBare)) ? order.kind : undefined);
}

function orderIn(text: string, reach = Number.POSITIVE_INFINITY) {
  const named = lexicon.read(text.toLowerCase());
  const kind = kinds
    .filter((each) => named.has(each) && named.first(each) <= reach)
    .sort((a, b) => named.first(a) - named.first(b))[0];
  const isAboutTalk = (named.has("talk") || kind === "commit_message" || kind === "rewrite") && !named.has("software");
  return { kind, isBare: named.has("bare"), isAboutTalk };
}

/** What a system prompt orders of every message. */
const instructionOf = memoizeByMessage(({ content }) => {
  const text = textOf(content);
  return orderIn(text.length > maxInstructionLength ? "" : text.slice(0, systemRead), instructionReach);
});

/** Whether a message behind others asks to sum up the conversation: work for the model that has it in its cache. */
export const asksToCompact = memoizeByMessage(({ content }) => {
  const named = lexicon.read(textOf(content).slice(0, orderHead).toLowerCase());
  return named.first("summary") < compactReach && named.has("talk") && !named.has("software");
});
