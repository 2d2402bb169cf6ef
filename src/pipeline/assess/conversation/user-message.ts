import type { ChatMessage } from "#domain/chat.ts";
import { isSystemRole } from "#domain/chat.ts";
import { Memo } from "#domain/message-memo.ts";
import { modelFacts } from "#pipeline/assess/run/message-facts.ts";
import words from "./housekeeping-words.yaml";
import { type OwnWords, ownWordsIn } from "./own-words.ts";
import { textOf, windowOf } from "./text.ts";

/** What a message in the user's role is. Flags only: they are kept from one request to the next, and hold no text. */
export interface UserFacts {
  /** Nothing in it is the user's. */
  readonly isEmpty: boolean;
  /** It only says to go on. */
  readonly continues: boolean;
  /** `[reasoning:high]` stands in the user's own words: inside what a program has added it costs nobody money. */
  readonly asksForHighReasoning: boolean;
  /** It begins with a bracketed header, or is made of blocks. */
  readonly isFramed: boolean;
  /** It begins with a label, as `Observation:` and `Tool result:`. */
  readonly isLabelled: boolean;
}

const memo = new Memo<UserFacts>();
const label = /^[A-Z][\w'`()/. -]{0,60}:(?=\s|$)/;

/** What a user's message shows, and its words where they had to be read for that. */
export function readUserMessage(message: ChatMessage): { readonly facts: UserFacts; readonly words?: OwnWords } {
  const known = memo.of(message);
  if (known !== undefined) return { facts: known };
  const text = textOf(message["content"]);
  const shown = windowOf(text);
  const own = ownWordsIn(shown);
  const { ask, isFramed } = own;
  const facts: UserFacts = {
    isEmpty: ask === "",
    continues: isContinuePrompt(ask),
    asksForHighReasoning: asksForHighReasoning(ask) || (text.length > shown.length && markedInMiddle(text)),
    isFramed,
    isLabelled: label.test(shown.trimStart().slice(0, 80)),
  };
  memo.set(message, facts);
  return { facts, words: own };
}

export function wordsOf(message: ChatMessage | undefined): OwnWords {
  return ownWordsIn(windowOf(textOf(message?.["content"])));
}

/** Characters in front of and behind a marker that are read to see whose it is. */
const aroundMarker = 2_000;

/** Whether the marker stands in the user's words in the part of a long message that is not read otherwise. */
function markedInMiddle(text: string): boolean {
  const at = text.includes("[") ? text.search(marker) : -1;
  return at >= 0 && asksForHighReasoning(ownWordsIn(text.slice(Math.max(0, at - aroundMarker), at + aroundMarker)).ask);
}

/** Adjacent messages that are looked at for the model's message in front. */
const maxAdjacent = 8;

/** What the model's message in front shows, where only messages of users and of the system stand between. */
export function spokeBefore(messages: readonly ChatMessage[], at: number): ReturnType<typeof modelFacts> | undefined {
  for (let before = at - 1; before >= 0 && before >= at - maxAdjacent; before--) {
    const message = messages[before];
    if (message?.role === "assistant") return modelFacts(message);
    if (message?.role !== "user" && !isSystemRole(message?.role)) return undefined;
  }
  return undefined;
}

/**
 * Whether a program has written a message in the user's role behind one of the model: it is made of blocks, or begins
 * with a bracketed header, or with a label where the model has written a call into its text. It continues the run.
 */
export function isTurnOfHarness(messages: readonly ChatMessage[], at: number): boolean {
  const message = messages[at];
  if (message === undefined) return false;
  const spoke = spokeBefore(messages, at);
  if (spoke === undefined) return false;
  const { facts } = readUserMessage(message);
  const acted = spoke.calls.length > 0 || spoke.written !== undefined || spoke.edits;
  if (facts.isEmpty || (facts.isFramed && acted)) return true;
  return (facts.isLabelled || isSystemRole(message.role)) && (spoke.written !== undefined || spoke.edits);
}

/** A message that only makes the agent go on consists of words of consent, and of what was proposed before. */
const continuingWords = new Set(words["continuing"]?.split(" "));
const continuingPhrase =
  /^(?:(?:继续|接着|好的?|可以|是的?|没问题|开始吧?|请|続けて|はい|お願いします|進めて|ください|계속|네|진행|해|주세요|해줘)[\s,.!。，！、]{0,3}){1,6}$/;

/** Whether an ask only says to continue what was asked before. */
function isContinuePrompt(ask: string): boolean {
  if (ask.length > 80 || ask.includes("?")) return false;
  if (continuingPhrase.test(ask)) return true;
  const said = ask.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu) ?? [];
  return said.length > 0 && said.length <= 12 && said.every((word) => continuingWords.has(word.replace("’", "'")));
}

/** The inline marker that forces the pro tier; letter case and blanks inside the brackets do not matter. */
const marker = /\[ {0,8}reasoning {0,8}: {0,8}high {0,8}\]/i;

/** Whether a text the caller has written (an instruction, the newest user message) carries `[reasoning:high]`. */
export function asksForHighReasoning(text: string): boolean {
  return text.includes("[") && marker.test(text);
}
