import type { Policy } from "#config/policy.ts";
import {
  changing,
  elsewhere,
  guardedWords,
  harmlessWords,
  inMemoryWords,
  personalWords,
  readingWords,
  textWords,
  treatingWords,
} from "./guarded-words.ts";
import { Lexicon, type Named } from "./lexicon.ts";
import { sentencesOf } from "./sentences.ts";

export type GuardedKind = "SECURITY" | "AUTH" | "PAYMENT" | "DESTRUCTIVE_MIGRATION";
type OwnWords = Policy["routing"]["guarded_words"];
type Tag = keyof typeof shipped | keyof OwnWords;

const shipped = {
  ...guardedWords,
  changing,
  reading: readingWords,
  treating: treatingWords,
  harmless: harmlessWords,
  inMemory: inMemoryWords,
  text: textWords,
  personal: personalWords,
  elsewhere,
};

/** One lexicon for each policy, as it may have words of its own. */
const lexicons = new WeakMap<OwnWords, Lexicon<Tag>>();
function lexiconWith(own: OwnWords): Lexicon<Tag> {
  let lexicon = lexicons.get(own);
  if (lexicon === undefined) {
    const lists: Partial<Record<Tag, string>> = { ...shipped };
    for (const [topic, words] of Object.entries(own) as [keyof OwnWords, readonly string[]][]) {
      const terms = words.map((word) => word.trim().toLowerCase().replaceAll(/\s+/g, "_"));
      lists[topic] = `${lists[topic] ?? ""} ${terms.join(" ")}`;
    }
    lexicon = new Lexicon<Tag>(lists);
    lexicons.set(own, lexicon);
  }
  return lexicon;
}

/** The guarded topic that an ask is to change, and whether it says that production is concerned. */
export interface Guarded {
  readonly kind: GuardedKind;
  readonly live: boolean;
}

/** Words of a clause within which its deed is named, behind words of politeness. */
const early = 4;
/** Sentences from the beginning and from the end in which an order is looked for: between stands what it is about. */
const firstSentences = 4;
const lastSentences = 2;
/** A short ask is one sentence, however it is punctuated; a still shorter one that orders nothing tells of a fault to be mended. */
const shortAsk = 60;
const shortReport = 25;
/** Words of a paragraph that says what is to be done with the text in the others. */
const shortParagraph = 30;

/**
 * A guarded topic is named by a word that means little else, or by two that may, in a sentence that orders a change. A sentence that only
 * reads, lists, tests, documents or lays out something is none. Where the first or the last paragraph has a text treated (extracted,
 * translated, rated, answered), the ask is about that text, whatever it says. No grammar: asks in other words are not found, and callers
 * can say so themselves (`metadata.risk_level`).
 *
 * @param ask in lower case
 */
export function guardedIn(ask: string, own: OwnWords): Guarded | undefined {
  const lexicon = lexiconWith(own);
  const paragraphs = ask.trim().split(/\n\s*\n/, maxParagraphs);
  const edges = paragraphs.length > 1 ? [paragraphs[0] ?? "", paragraphs.at(-1) ?? ""] : paragraphs;
  if (edges.some((edge) => hasTextTreated(edge, paragraphs.length > 1, lexicon)) || isListOrQuiz(ask)) return undefined;
  const sentences = sentencesOf(ask);
  if (isQuestion(sentences.at(-1) ?? "")) return undefined;
  const joined = paragraphs.length === 1 && ask.length < 10 * shortAsk ? sentences.join(" ") : "";
  const words = joined === "" ? Number.POSITIVE_INFINITY : lexicon.read(joined).words;
  if (words <= shortAsk) return topicOf(joined, lexicon, words <= shortReport);
  const read = [...sentences.slice(0, firstSentences), ...sentences.slice(firstSentences).slice(-lastSentences)];
  for (const sentence of read) {
    const found = topicOf(sentence, lexicon, false);
    if (found !== undefined) return found;
  }
  return undefined;
}

const maxParagraphs = 64;

/** Whether a paragraph says what is to be done with a text: by a verb in its first or last sentence, or, beside others, by what it is called. */
function hasTextTreated(paragraph: string, besideOthers: boolean, lexicon: Lexicon<Tag>): boolean {
  const sentences = sentencesOf(paragraph);
  for (const sentence of [sentences[0] ?? "", sentences.at(-1) ?? ""]) {
    const named = lexicon.read(withoutPoliteness(sentence));
    if (named.first("treating") < early && named.first("treating") <= named.first("changing")) return true;
  }
  if (!besideOthers || paragraph.length > 8 * shortParagraph) return false;
  const named = lexicon.read(paragraph);
  return named.words <= shortParagraph && named.has("text") && namedTopic(named) === undefined;
}

/** What an ask ends with is what it wants to know, unless it is an order in polite words. */
function isQuestion(sentence: string): boolean {
  return /[?？]\s*$/.test(sentence) && !politeWords.has(/[\p{L}']+/u.exec(sentence)?.[0] ?? "");
}

const answers = /^\s{0,4}\(?[a-j][.)] /gm;
const fewAnswers = 3;

/** Answers to choose from, or words without a sentence. */
function isListOrQuiz(ask: string): boolean {
  const commas = ask.split(",").length - 1;
  return (ask.match(answers)?.length ?? 0) >= fewAnswers || (commas > 4 && 2 * commas > ask.split(" ").length);
}

/** Characters of a system prompt that says what is to be done with every message. */
const shortPrompt = 1_000;
const shippedOnly = { security: [], auth: [], payment: [], destructive_migration: [] };

/** Whether a system prompt has the texts of its users treated: what they say is nobody's order then. */
export function hasTextsTreated(prompt: string): boolean {
  return prompt.length <= shortPrompt && hasTextTreated(prompt.toLowerCase(), false, lexiconWith(shippedOnly));
}

/** @param reports a statement without an order counts too */
function topicOf(sentence: string, lexicon: Lexicon<Tag>, reports: boolean): Guarded | undefined {
  const named = lexicon.read(wholeOf(sentence));
  if (named.has("harmless") || named.has("personal")) return undefined;
  const kind = destroys(named) ? "DESTRUCTIVE_MIGRATION" : namedTopic(named);
  if (kind === undefined) return undefined;
  const orders = clausesOf(sentence).some((clause) => lexicon.read(clause).has("changing"));
  // What reads first changes nothing: "explain how to add a login".
  if (lexicon.read(withoutPoliteness(sentence)).first("reading") === 0 || !(orders || reports)) return undefined;
  return { kind, live: named.has("live") };
}

const partsBehind = /\s(?:with|including|mit|avec|con|com|с)\s|包括|包含/;
const fewParts = 2;

/** A sentence without a list of parts: "build an API with paging, authentication and caching" is work on an API. */
function wholeOf(sentence: string): string {
  const parts = sentence.search(partsBehind);
  return parts > 0 && sentence.slice(parts).split(/[,、]/).length > fewParts ? sentence.slice(0, parts) : sentence;
}

/** Words of politeness in front of what is wanted. */
const politeWords = new Set(
  (
    "hi hello hey please pls plz kindly can could can would will shall should you i we i'd we'd d ll like to want wants need needs have has must help me us let's just now ok " +
    "so and then also but next first finally quickly simply bitte kannst du können sie ich wir möchte por favor puedes podrías pouvez vous peux tu il faut s'il te plaît quiero necesito"
  ).split(" "),
);

function withoutPoliteness(clause: string): string {
  const words = clause.trim().split(/\s+/, 12);
  const own = words.findIndex((word) => !politeWords.has(word.replace(/[,.!]$/, "")));
  return words.slice(Math.max(0, own)).join(" ");
}

const clauseEnd = /[,;()–—!?.]\s|\s-\s|\s(?:and|then|so|but|und|et|y|e|и|a|ve)\s/;
const maxClauses = 24;
/** Scripts of languages whose verbs stand at the end, or whose words have no blanks between. */
const otherScript = /[\u0600-\u06ff\u0900-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/;

/** The beginnings of the clauses of a sentence, in which an order stands; the whole sentence where verbs stand elsewhere. */
function clausesOf(sentence: string): readonly string[] {
  if (otherScript.test(sentence)) return [sentence];
  return sentence.split(clauseEnd, maxClauses).map((clause) => withoutPoliteness(clause).split(" ", early).join(" "));
}

/** Data that is stored is discarded: a verb for it, a thing that holds data, and how much of it or that it is in use. */
function destroys(named: Named<Tag>): boolean {
  if (named.has("destructive_migration")) return true;
  const some = (tag: Tag) => (named.has(tag) ? 1 : 0);
  if (some("destroying") + some("deleting") === 0 || some("stored") + some("storedHint") + some("live") === 0)
    return false;
  if (some("inMemory") > 0 && some("stored") + some("live") === 0) return false;
  const points =
    Math.max(2 * some("destroying"), some("deleting")) +
    some("stored") +
    Math.min(2, named.distinct("stored")) +
    Math.min(2, named.distinct("storedHint")) +
    some("live") +
    some("everything");
  return points >= (some("stored") + some("live") > 0 ? 3 : 4);
}

/** Points from which on a topic is named. */
const enough = 2;

function namedTopic(named: Named<Tag>): "SECURITY" | "AUTH" | "PAYMENT" | undefined {
  const act = named.has("act");
  const again = named.has("again");
  const points = (strong: Tag, hint: Tag, wrong: boolean) => {
    const hints = Math.min(2, named.distinct(hint));
    return 2 * named.count(strong) + hints + (hints > 0 && wrong ? 1 : 0);
  };
  const security = points("security", "securityHint", act);
  const auth = points("auth", "authHint", act || again);
  const payment = points("payment", "paymentHint", act || again);
  const most = Math.max(security, auth, payment);
  if (most < enough) return undefined;
  if (security === most) return "SECURITY";
  return auth === most ? "AUTH" : "PAYMENT";
}
