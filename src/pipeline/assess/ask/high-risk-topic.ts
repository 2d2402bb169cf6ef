import type { Policy } from "#config/policy.ts";
import { windowOf } from "#pipeline/assess/conversation/text.ts";
import lists from "./high-risk-words.yaml";
import { Lexicon, type Named } from "./lexicon.ts";
import { isListOrQuiz, sentencesOf } from "./sentences.ts";

export type HighRiskKind = "SECURITY" | "AUTH" | "PAYMENT" | "DESTRUCTIVE_MIGRATION";
type OwnWords = Policy["routing"]["high_risk_words"];

const { polite = "", ...words } = lists;
const politeWords = new Set(polite.split(" "));

/** The lexicon of a policy, as it may have words of its own. */
const lexicons = new WeakMap<OwnWords, Lexicon>();
function lexiconWith(own: OwnWords): Lexicon {
  let lexicon = lexicons.get(own);
  if (lexicon === undefined) {
    const all = { ...words };
    for (const [topic, terms] of Object.entries(own)) {
      all[topic] = `${all[topic] ?? ""} ${terms.map((term) => term.toLowerCase().replaceAll(" ", "_")).join(" ")}`;
    }
    lexicon = new Lexicon(all);
    lexicons.set(own, lexicon);
  }
  return lexicon;
}
const shipped = new Lexicon(words);

/** The high-risk topic that an ask is to change, and whether it says that production is concerned. */
export interface HighRiskTopic {
  readonly kind: HighRiskKind;
  readonly live: boolean;
}

/** Words of a clause within which its deed is named, behind words of politeness. */
const early = 4;
/** Sentences from the beginning and from the end in which an order is looked for: between stands what it is about. */
const firstSentences = 4;
const lastSentences = 2;
/** A short ask is one sentence, however it is punctuated; a shorter one that orders nothing tells of a fault. */
const shortAsk = 60;
const shortReport = 25;
/** Words of a paragraph that says what to do with the text in the others; characters of such a system prompt. */
const shortParagraph = 30;
const shortPrompt = 1_000;
const maxParagraphs = 64;
/** Characters of an ask that are read. */
const head = 2_000;
const tail = 1_000;
const maxClauses = 24;

/**
 * A high-risk topic is named by a word that means little else, or by two that may, in a sentence that orders a change,
 * not one that only reads, lists, tests, documents or lays out something. Where the first or the last paragraph has a
 * text treated (extracted, translated, rated, answered), the ask is about that text. No grammar: asks in other words
 * are not found, and callers can say so themselves (`metadata.risk_level`).
 * @param text in lower case
 */
export function highRiskTopicIn(text: string, own: OwnWords): HighRiskTopic | undefined {
  const ask = windowOf(text, head, tail);
  const lexicon = lexiconWith(own);
  // Most asks have no word of a topic, and are read once.
  const found = lexicon.read(ask);
  if (namedTopic(found) === undefined && !destroyingLists.some((list) => found.has(list))) return undefined;
  const paragraphs = ask.trim().split(/\n[ \t]*\n/, maxParagraphs);
  const isLong = paragraphs.length > 1;
  const edges = isLong ? [paragraphs[0] ?? "", paragraphs.at(-1) ?? ""] : paragraphs;
  if (edges.some((edge) => hasTextTreated(edge, isLong, lexicon)) || isListOrQuiz(ask)) return undefined;
  const sentences = sentencesOf(ask);
  if (isQuestion(sentences.at(-1) ?? "")) return undefined;
  const joined = isLong || ask.length > 10 * shortAsk ? "" : sentences.join(" ");
  const length = joined === "" ? Number.POSITIVE_INFINITY : lexicon.read(joined).words;
  if (length <= shortAsk) return topicOf(joined, lexicon, length <= shortReport);
  const read = [...sentences.slice(0, firstSentences), ...sentences.slice(firstSentences).slice(-lastSentences)];
  for (const sentence of read) {
    const topic = topicOf(sentence, lexicon, false);
    if (topic !== undefined) return topic;
  }
  return undefined;
}

/** Whether a system prompt has the texts of its users treated: what they say is nobody's order then. */
export function hasTextsTreated(prompt: string): boolean {
  return prompt.length <= shortPrompt && hasTextTreated(prompt.toLowerCase(), false, shipped);
}

/**
 * Whether a paragraph has a text treated: by a verb in its first or last sentence, or, beside others, by the text's
 * name.
 */
function hasTextTreated(paragraph: string, besideOthers: boolean, lexicon: Lexicon): boolean {
  const sentences = sentencesOf(paragraph);
  for (const sentence of new Set([sentences[0] ?? "", sentences.at(-1) ?? ""])) {
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

/** @param reports a statement without an order counts too */
function topicOf(sentence: string, lexicon: Lexicon, reports: boolean): HighRiskTopic | undefined {
  const named = lexicon.read(wholeOf(sentence));
  if (named.has("harmless")) return undefined;
  const kind = destroys(named) ? "DESTRUCTIVE_MIGRATION" : namedTopic(named);
  if (kind === undefined) return undefined;
  const orders = reports || clausesOf(sentence).some((clause) => lexicon.read(clause).has("changing"));
  // What reads first changes nothing: "explain how to add a login".
  if (!orders || lexicon.read(withoutPoliteness(sentence)).first("reading") === 0) return undefined;
  return { kind, live: named.has("live") };
}

const partsBehind = /\s(?:with|including|mit|avec|con|com|с)\s|包括|包含/;

/** A sentence without a list of parts: "build an API with paging, authentication and caching" is work on an API. */
function wholeOf(sentence: string): string {
  const parts = sentence.search(partsBehind);
  return parts > 0 && sentence.slice(parts).split(/[,、]/).length > 2 ? sentence.slice(0, parts) : sentence;
}

function withoutPoliteness(clause: string): string {
  const all = clause.trim().split(/\s/, 16);
  const own = all.findIndex((word) => word !== "" && !politeWords.has(word.replace(/[,.!]$/, "")));
  return all.slice(Math.max(0, own)).join(" ");
}

const clauseEnd = /[,;()–—!?.]\s|\s-\s|\s(?:and|then|so|but|und|et|y|e|и|a|ve)\s/;

/** The first words of the clauses of a sentence, in which an order stands. */
function clausesOf(sentence: string): readonly string[] {
  const clauses = sentence.split(clauseEnd, maxClauses);
  return clauses.map((clause) => withoutPoliteness(clause).split(" ", early).join(" "));
}

const destroyingLists = ["destructive_migration", "destroying", "deleting"];

/** Stored data is discarded: a verb for it, a thing that holds data, and how much of it or that it is in use. */
function destroys(named: Named): boolean {
  if (named.has("destructive_migration")) return true;
  const some = (tag: string) => (named.has(tag) ? 1 : 0);
  const holds = some("stored") + some("live");
  if (some("destroying") + some("deleting") === 0 || holds + some("storedHint") === 0) return false;
  if (some("inMemory") > 0 && holds === 0) return false;
  const things = Math.min(2, named.distinct("stored")) + Math.min(2, named.distinct("storedHint"));
  const points = Math.max(2 * some("destroying"), some("deleting")) + holds + things + some("everything");
  return points >= (holds > 0 ? 3 : 4);
}

/** A topic is named by two points: one of its words, or two of those that have other meanings, or one and a fault. */
function namedTopic(named: Named): "SECURITY" | "AUTH" | "PAYMENT" | undefined {
  const points = (topic: string, wrong: boolean) => {
    const hints = Math.min(2, named.distinct(`${topic}Hint`));
    return 2 * named.count(topic) + hints + (hints > 0 && wrong ? 1 : 0);
  };
  const act = named.has("act");
  const again = named.has("again");
  const security = points("security", act);
  const auth = points("auth", act || again);
  const payment = points("payment", act || again);
  if (Math.max(security, auth, payment) < 2) return undefined;
  if (security >= Math.max(auth, payment)) return "SECURITY";
  return auth >= payment ? "AUTH" : "PAYMENT";
}
