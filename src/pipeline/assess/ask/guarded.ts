import type { Policy } from "#config/policy.ts";
import type { AskText } from "./ask-text.ts";
import { elsewhere, guardedWords, harmlessOpenings, harmlessWords, inMemoryWords } from "./guarded-words.ts";
import { joined, type Named, Vocabulary } from "./terms.ts";

export type GuardedKind = "SECURITY" | "AUTH" | "PAYMENT" | "DESTRUCTIVE_MIGRATION";
type OwnWords = Policy["routing"]["guarded_words"];
type Tag = keyof typeof shipped | keyof OwnWords;

const howMany = /\bhow (?:many|much|tall|far|old)\b/;

/** Words into an ask within which a topic counts: what is wanted is said first. */
const reach = 30;
/** Words into it within which something harmless is its purpose, and what it orders is said. */
const purpose = 8;
const opening = 4;
/** A longer ask that orders nothing is a report, a story or a question, whatever it mentions. */
const longReport = 40;

const orders = `add fix implement make let please create change remove delete drop use store switch move replace rotate block prevent stop ensure update upgrade migrate write build
  integrate allow require enforce restrict revoke encrypt hash check verify validate rate limit lock refund charge issue send cancel retry handle give set put get pls could can we our should must
  purge wipe truncate erase reset clean apply run merge convert swap split close disable enable secure harden mask hide invalidate expire support introduce
  füge behebe implementiere ändere lösche entferne ajoute corrige implémente supprime mets añade arregla implementa borra elimina adicione corrija aggiungi correggi добавь исправь сделай удали dodaj popraw usuń ekle düzelt sil`;

const shipped = {
  ...guardedWords,
  harmlessOpening: harmlessOpenings,
  harmless: harmlessWords,
  inMemory: inMemoryWords,
  elsewhere,
  order: orders,
  building:
    "build implement create write develop set_up make erstelle baue implementiere développe crée desarrolla crea implementa desenvolva создай 实现 创建 开发",
  sum: "what_is_the what_was_the what_will_be calculate compute probability in_total convert stock",
  listing: "with including include mit avec con com con с 包括 包含",
};

/** One vocabulary for each policy, as it may have words of its own. */
const vocabularies = new WeakMap<OwnWords, Vocabulary<Tag>>();
function vocabularyWith(own: OwnWords): Vocabulary<Tag> {
  let vocabulary = vocabularies.get(own);
  if (vocabulary === undefined) {
    vocabulary = new Vocabulary<Tag>(shipped as Record<Tag, string>);
    for (const [tag, words] of Object.entries(own) as [keyof OwnWords, readonly string[]][]) {
      for (const word of words) vocabulary.add(word.trim().toLowerCase().replaceAll(/\s+/g, "_"), tag);
    }
    vocabularies.set(own, vocabulary);
  }
  return vocabulary;
}

/** The guarded topic that an ask is to change, and whether it says that production is concerned. */
export interface Guarded {
  readonly kind: GuardedKind;
  readonly live: boolean;
}

/**
 * A guarded topic is named by a word that means little else, or by two that may: enough points, early, in an ask that is not
 * only to read, list, test, document or lay out something. No grammar: asks in other words are not found, and callers can say so
 * themselves (`metadata.risk_level`).
 */
export function guardedIn(text: AskText, own: OwnWords): Guarded | undefined {
  const { features } = text;
  const named = vocabularyWith(own).read(text, reach);
  const start = firstWord(text);
  if (named.first("harmlessOpening") === start || named.first("harmless") < purpose) return undefined;
  if (features.words > longReport && named.first("order") >= opening) return undefined;
  // A quiz, a sum to be worked out, or a list of words.
  if (features.options >= 3 || (features.numbers > 0 && (named.count("sum") > 0 || howMany.test(joined(text.words)))))
    return undefined;
  if (2 * features.commas > features.words) return undefined;
  const live = named.count("live") > 0;
  if (destroys(named)) return { kind: "DESTRUCTIVE_MIGRATION", live };
  const kind = topicIn(named);
  return kind === undefined || isOneOfManyParts(text, named) ? undefined : { kind, live };
}

/** Data that is stored is discarded: a verb for it, a thing that holds data, and how much of it or that it is in use. */
function destroys(named: Named<Tag>): boolean {
  if (named.count("destructive_migration") > 0) return true;
  const some = (tag: Tag) => Math.min(1, named.count(tag));
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
  return points >= (some("live") > 0 && some("stored") + some("storedHint") > 0 ? 3 : 4);
}

/** Words of politeness in front of what is wanted. */
const politeWords = new Set(
  "hi hello hey please pls plz kindly could can would will you i we d like to want need help me us let just now ok so and then also bitte kannst du können sie por favor puedes podrías pouvez vous peux tu s'il te plaît".split(
    " ",
  ),
);

function firstWord({ words }: AskText): number {
  const at = words.findIndex(({ text }) => !politeWords.has(text));
  return at < 0 ? 0 : at;
}

/** Points from which on a topic is named. */
const enough = 2;

function topicIn(named: Named<Tag>): "SECURITY" | "AUTH" | "PAYMENT" | undefined {
  const act = named.count("act") > 0;
  const again = named.count("again") > 0;
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

/** One part in a list of parts of something larger: "build an API with paging, authentication and caching" is work on an API. */
function isOneOfManyParts({ features }: AskText, named: Named<Tag>): boolean {
  const [begun, listed] = [named.first("building"), named.first("listing")];
  const topics = named.count("security") + named.count("auth") + named.count("payment");
  const first = Math.min(named.first("security"), named.first("auth"), named.first("payment"));
  return features.commas >= 2 && topics === 1 && begun < opening && listed > begun && listed < first;
}
