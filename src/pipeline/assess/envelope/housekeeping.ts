import type { TaskKind } from "#domain/routing.ts";
import type { Conversation } from "./conversation-types.ts";

/** Calls that an agent or a chat program makes for itself, not for its user's work. */
export type HousekeepingKind = "title" | "commit_message" | "summary" | "labels" | "command_check" | "completion";

/** The kind of task that a housekeeping call is. */
export const taskKindOf: { readonly [K in HousekeepingKind]: TaskKind } = {
  title: "SUMMARIZE",
  commit_message: "SUMMARIZE",
  summary: "SUMMARIZE",
  labels: "CLASSIFY",
  command_check: "CLASSIFY",
  completion: "CODING",
};

/** The instruction of each, in the words that programs use for it. */
const instructions: readonly {
  readonly kind: HousekeepingKind;
  /** Found in every text that says it: one cheap search for all of these rules out nearly every other text. */
  readonly word: RegExp;
  readonly says: RegExp;
}[] = [
  {
    kind: "title",
    word: /\bname|title|headline|slug/i,
    says: /\b(?:title|name|headline) generator\b|\b(?:generate|create|write|suggest|give|provide|produce|propose|make|craft(?:ing)?|come up with|pick|reply with)\b[^.\n]{0,60}\b(?:(?:titles?|names?|headlines?|slugs?)\b[^.\n]{0,40}\b(?:conversation|chat|thread|session|task|discussion|dialogu?e|topic)|(?:titles?|headlines?)\b[^.\n]{0,40}\b(?:message|request|following content))|\b(?:conversation|chat|thread|session|branch) (?:titles?|names?)\b/i,
  },
  {
    kind: "commit_message",
    word: /commit|pull request|pr title|pr desc/i,
    says: /\b(?:(?:generat|writ|creat|compos|produc|craft)\w{1,4}|come up with)\b[^.\n]{0,80}\b(?:commit messages?|pull request (?:titles?|descriptions?)|PR (?:titles?|descriptions?))\b/i,
  },
  {
    kind: "summary",
    word: /summar/i,
    says: /\bsummar(?:i[sz]e|i[sz]ing|y of|ies of)\b[^.\n]{0,60}\b(?:conversations?|chat|dialogu?e|discussion|session|history|transcript|tool output)\b|\bconversations?\b[^.\n]{0,40}\bcreate a [^.\n]{0,20}\bsummary\b|\bstate summary for an?\b/i,
  },
  {
    kind: "labels",
    word: /tags|question|quer|keyword|emoji|topic|speak|classifier|router/i,
    says: /\b(?:generate|suggest|produce|extract)\b[^.\n]{0,40}\b(?:tags|follow-?up questions|search quer(?:y|ies)|keywords|emoji)\b|\bnew (?:conversation )?topic\b|\bisNewTopic\b|\bwho should (?:logically )?speak next\b|\bYou are an? [^.\n]{0,30}\b(?:classifier|router) (?:for|of)\b[^.\n]{0,40}\b(?:prompts?|requests?|messages?)\b/i,
  },
  {
    kind: "command_check",
    word: /command/i,
    says: /\bcommand[ _-]prefix|\bprefix of (?:the|a|each) command|command_injection_detected|\b(?:determine|classify|decide|check)\b[^.\n]{0,60}\bcommand\b[^.\n]{0,60}\b(?:safe|dangerous|allowed|destructive)\b/i,
  },
  {
    kind: "completion",
    word: /fim_|cursor|hole|<(?:pre|suf|mid)>|fill|completion|autocomplet/i,
    says: /<\|?(?:fim_(?:prefix|suffix|middle)|cursor|hole)\|?>|<(?:PRE|SUF|MID)>|\{\{ ?(?:FILL_HERE|HOLE|CURSOR)[^}]{0,20}\}\}|\bfill[ -]in[ -](?:the[ -])?(?:middle|blank|hole)\b|\b(?:HOLE FILLER|(?:code )?autocomplet\w+ (?:engine|assistant|model)|code completion (?:engine|assistant|model))\b/i,
  },
];
/** Begins of the words above, all of them at the beginning of a word: most places of a text are left after one look. */
const anyWord =
  /\b(?:name|title|headline|slug|commit|pull request|pr title|pr desc|summar|tags|question|quer|keyword|emoji|topic|isnewtopic|speak|classifier|router|command|fim_|cursor|hole|fill|completion|autocomplet)|<(?:pre|suf|mid)>/i;

/** Programs ask for the bare result; people who ask for a title in a chat do not. */
const bareResult =
  /\b(?:only|just|nothing else|nothing but)\b[^\n]{0,80}|\bwithout (?:any )?(?:additional|extra|explan|quotes|comment|preamble)|\bno (?:explanations?|quotes|preamble|markdown|additional)|\bNEVER (?:explain|respond|answer)|\b(?:max(?:imum)?(?: of)?|at most|≤|<=|fewer than|less than|up to)\s*\d{1,5}\b[^\n]{0,20}\b(?:words?|characters?|chars|tokens)|\bJSON\b|^\s*You are maintaining\b/i;

/** Longest system prompt of a call that does one small thing. */
const maxInstructionLength = 8_000;

/** A bound on the answer that leaves room for one small thing only. */
const smallAnswerTokens = 512;

/**
 * What kind of housekeeping a call is; undefined when it is somebody's work. It offers no tools, and its instructions, in a
 * system prompt of its own or in its one message, ask for one small thing and for nothing else.
 */
export function housekeepingOf(
  conversation: Conversation,
  requestedOutputTokens: number | null,
): HousekeepingKind | undefined {
  if (conversation.tools.length > 0 || conversation.systemLength > maxInstructionLength) return undefined;
  const { system, newest, turns, usedTools } = conversation;
  const smallAnswer = requestedOutputTokens !== null && requestedOutputTokens <= smallAnswerTokens;
  const bySystem = kindSaidIn(system);
  if (bySystem !== undefined) {
    const bare = smallAnswer || system.length < 200 || bareResult.test(system) || bareResult.test(newest);
    if (bare) return bySystem;
  }
  // Without a system prompt that says so, the message itself must, and be the whole conversation, or stand at the end of an agent's
  // run whose tools the call leaves out.
  if (turns > 1 && !usedTools) return undefined;
  return smallAnswer || bareResult.test(newest) ? kindSaidIn(newest) : undefined;
}

function kindSaidIn(text: string): HousekeepingKind | undefined {
  if (!anyWord.test(text)) return undefined;
  return instructions.find(({ word, says }) => word.test(text) && says.test(text))?.kind;
}

/** What is left to be said of the conversation behind the sentence that names it; other words make it a part of the user's work. */
const ofConversation = String.raw`(?:this|the|our|your)(?: \w+){0,2} (?:conversation|session|chat|history|dialogue|discussion)(?=\s*(?:[.,:;!()<\n-]|so far|above|to date|until|up to|below|and|in order|$))`;
const compaction = new RegExp(
  [
    String.raw`\b(?:create|write|provide|generate|produce|give)\b[^.\n]{0,60}\b(?:summary|handoff|recap|snapshot)\b[^.\n]{0,20}\b(?:of|for) ${ofConversation}`,
    String.raw`\b(?:create|write|provide|generate|produce)\b[^.\n]{0,60}\b(?:summary|handoff|prompt)\b[^.\n]{0,60}\b(?:(?:another|the next|a new) (?:LLM|model|agent|assistant|session|conversation)|continu\w+ (?:our|the|this) (?:conversation|session|work))\b`,
    String.raw`^\s*(?:please )?(?:summari[sz]e|compact|condense) ${ofConversation}`,
    String.raw`^\s*You have been tasked with (?:summari[sz]ing|compacting)|^\s*The following is a conversation history to be (?:summari[sz]ed|compacted)`,
    String.raw`\b(?:generate|create|update)\b[^.\n]{0,40}<state_snapshot>`,
  ].join("|"),
  "im",
);
/** Characters at the beginning within which a request for compaction says what it is. */
const compactionHead = 800;
/** Messages from which on a conversation has something to be compacted. */
const longConversation = 6;

/** Whether a message asks to compact the long conversation that it ends: work for the model that has it in its cache. */
export function asksForCompaction(text: string, messages: number): boolean {
  return messages >= longConversation && compaction.test(text.slice(0, compactionHead));
}
