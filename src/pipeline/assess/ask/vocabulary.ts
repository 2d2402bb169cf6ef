import { guardedTerms } from "./guarded-terms.ts";
import { furtherTermsOf } from "./more-languages.ts";
import { beginsWord, maxSlots, standsInName, termScanner, termSlot, wordsBefore } from "./term-scan.ts";
import { faultTopics, type Topic, topicTerms } from "./topic-terms.ts";

/** Commas, stops and question marks of Greek, Hebrew, Arabic and Indic scripts. */
const punctuation: ReadonlySet<number> = new Set(
  [..."\u037e\u0387\u05be\u05c3\u060c\u061b\u061f\u06d4\u0964\u0965"].map((sign) => sign.charCodeAt(0)),
);

const topics = Object.keys(topicTerms) as readonly Topic[]; // keys of the literal above, nothing else

const placeOf = Object.fromEntries(topics.map((topic, number) => [topic, number])) as { readonly [T in Topic]: number }; // each of them

/** Topics that a part of a name does not name. */
const unsaidInNames: ReadonlySet<number> = new Set([
  placeOf.acting,
  placeOf.authWeak,
  placeOf.paymentWeak,
  placeOf.securityWeak,
]);

/** The concepts of guarded asks and of faults. */
const concepts = new Set([...Object.keys(guardedTerms), ...faultTopics].map((topic) => topics.indexOf(topic as Topic))); // a part of the topics

const entries = topics.flatMap((topic, number) =>
  `${topicTerms[topic]} ${furtherTermsOf(topic)}`
    .trim()
    .split(/\s+/)
    .map((entry) => {
      const open = entry.endsWith("*");
      const term = (open ? entry.slice(0, -1) : entry).replaceAll("_", " ");
      return { term, number, open: open || isDense(term.charCodeAt(term.length - 1)) };
    }),
);

/** A number for each letter that occurs in terms, the first to occur first; 0 for all others. */
const symbolOf = new Uint16Array(0x10000);
let symbols = 1;
for (const { term } of entries) {
  for (let at = 0; at < term.length; at++) {
    const code = term.charCodeAt(at);
    if (symbolOf[code] === 0) symbolOf[code] = symbols++;
  }
}

/** A node of the trie while it is being built. */
interface Node {
  readonly children: Map<number, Node>;
  /** Topics of terms that end here: as a whole word, and as the beginning of a word. */
  whole: number[] | undefined;
  prefix: number[] | undefined;
}

const newNode = (): Node => ({ children: new Map(), whole: undefined, prefix: undefined });

function trieOf(): Node {
  const root = newNode();
  for (const { term, number, open } of entries) {
    let node = root;
    for (let at = 0; at < term.length; at++) {
      const symbol = symbolOf[term.charCodeAt(at)] ?? 0;
      let child = node.children.get(symbol);
      if (child === undefined) {
        child = newNode();
        node.children.set(symbol, child);
      }
      node = child;
    }
    node.whole = [...(node.whole ?? []), number];
    if (open) node.prefix = [...(node.prefix ?? []), number];
  }
  for (const { term, open } of entries.toSorted((a, b) => a.term.length - b.term.length)) {
    // A longer term of one word means what its beginning means, too: `sanitize` is also a `sanitiz*`.
    let node: Node | undefined = root;
    let begun: readonly number[] = [];
    let firstWords: readonly number[] = [];
    for (let at = 0; at < term.length && node !== undefined; at++) {
      if (node.whole !== undefined && !isWordCode(term.charCodeAt(at))) firstWords = node.whole;
      begun = term[at] === " " ? [] : [...begun, ...(node.prefix ?? [])];
      node = node.children.get(symbolOf[term.charCodeAt(at)] ?? 0);
    }
    if (node === undefined) continue;
    // Several words do not take from the first of them the concepts that it names, and if they name nothing else, no meaning at all.
    const named = node.whole ?? [];
    const kept = named.every((number) => concepts.has(number))
      ? firstWords
      : named.includes(placeOf.elsewhere)
        ? []
        : firstWords.filter((number) => concepts.has(number));
    const also = [...begun, ...kept];
    node.whole = [...new Set([...(node.whole ?? []), ...also])];
    if (open) node.prefix = [...new Set([...(node.prefix ?? []), ...also])];
  }
  return root;
}

/**
 * The trie as a double array: the child of slot `s` by a symbol is the slot `base[s] + symbol` if its `parentOf` is `s`.
 * Rows of children lie in each other's gaps, so all of it is a few tens of kilobytes and stays in the processor's cache
 * between two requests; as plain rows of all symbols it was megabytes, and walking it cost a cache miss a letter.
 */
const rootSlot = 1;
const { base, parentOf, wholes, prefixes } = packed(trieOf());

function packed(root: Node) {
  const base: number[] = [0, 0];
  const parentOf: number[] = [0, 0];
  const wholes: (readonly number[] | undefined)[] = [undefined, undefined];
  const prefixes: (readonly number[] | undefined)[] = [undefined, undefined];
  const waiting: { readonly node: Node; readonly slot: number }[] = [{ node: root, slot: rootSlot }];
  let firstFree = 2;
  for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
    const { node, slot } = item;
    const row = [...node.children.keys()].sort((a, b) => a - b);
    const [lowest] = row;
    if (lowest === undefined) continue;
    while ((parentOf[firstFree] ?? 0) !== 0) firstFree++;
    let at = Math.max(1, firstFree - lowest);
    while (row.some((symbol) => (parentOf[at + symbol] ?? 0) !== 0)) at++;
    base[slot] = at;
    for (let missing = parentOf.length; missing <= at + (row.at(-1) ?? 0); missing++) {
      // Written out so that the arrays have no holes, which cost a look-up elsewhere.
      base.push(0);
      parentOf.push(0);
      wholes.push(undefined);
      prefixes.push(undefined);
    }
    for (const [symbol, child] of node.children) {
      parentOf[at + symbol] = slot;
      wholes[at + symbol] = child.whole;
      prefixes[at + symbol] = child.prefix;
      waiting.push({ node: child, slot: at + symbol });
    }
  }
  if (base.length > maxSlots) throw new RangeError("the vocabulary has outgrown its table");
  return { base, parentOf, wholes, prefixes };
}

/** 0: between words, 1: part of a word, 2: a character that counts as a word by itself. */
const classOf = new Uint8Array(0x10000);
for (let code = 0; code < classOf.length; code++) classOf[code] = isDense(code) ? 2 : isWordCode(code) ? 1 : 0;
// Capitals are read as their small letters, so that no text need be copied to be read.
for (let code = 0; code < classOf.length; code++) {
  const small = String.fromCharCode(code).toLowerCase();
  if (small.length > 1 || small.charCodeAt(0) === code) continue;
  symbolOf[code] = symbolOf[small.charCodeAt(0)] ?? 0;
  classOf[code] = classOf[small.charCodeAt(0)] ?? 0;
}

/** The topics that a text mentions, how often, and where first. */
export interface TopicCounts {
  readonly words: number;
  /** Different words among them, within a few of the exact number. */
  readonly distinctWords: number;
  count(topic: Topic): number;
  /**
   * Index of the first word (not character) of the topic; Infinity when it does not occur. A character that is written
   * without blanks counts as half a word here.
   */
  first(topic: Topic): number;
}

/** What was counted in one text. */
class Counted implements TopicCounts {
  readonly words: number;
  readonly distinctWords: number;
  readonly #counts = new Uint16Array(topics.length);
  readonly #firsts = new Uint16Array(topics.length);

  constructor(words: number, distinctWords: number) {
    this.words = words;
    this.distinctWords = distinctWords;
  }

  count(topic: Topic): number {
    return this.#counts[placeOf[topic]] ?? 0;
  }

  first(topic: Topic): number {
    const first = this.#firsts[placeOf[topic]] ?? 0;
    return first === 0 ? Number.POSITIVE_INFINITY : first - 1;
  }

  /**
   * A word with so many before it names these topics. A verb inside a name (`update` in `0011_update_rights`, `charge()`) is no order, and
   * a word that everyday talk shares says little there (`test_discount`).
   */
  name(named: readonly number[], position: number, inName: boolean): void {
    for (let at = 0; at < named.length; at++) {
      const place = named[at] ?? 0;
      if (inName && unsaidInNames.has(place)) continue;
      this.#counts[place] = (this.#counts[place] ?? 0) + 1;
      // Counted from one, so that zero stands for a topic that does not occur; no text that is read has so many words.
      if (this.#firsts[place] === 0) this.#firsts[place] = position + 1;
    }
  }
}

const scanTerms = termScanner({
  symbolOf,
  classOf,
  base,
  parentOf,
  skipsWhole: (slot) => namesNothing(wholes[slot]),
  skipsBegin: (slot) => namesNothing(prefixes[slot]),
});

function namesNothing(named: readonly number[] | undefined): boolean | undefined {
  return named === undefined ? undefined : named[0] === placeOf.elsewhere;
}

/** Counts the vocabulary's terms in one pass over a text, which the caller keeps short. Longest term wins at each word. */
export function topicCountsOf(text: string): TopicCounts {
  const { words, distinctWords, found, terms } = scanTerms(text);
  const counted = new Counted(words, distinctWords);
  for (let at = 0; at < found; at++) {
    const term = terms[at] ?? 0;
    const named = (beginsWord(term) ? prefixes : wholes)[termSlot(term)];
    if (named !== undefined) counted.name(named, wordsBefore(term), standsInName(term));
  }
  return counted;
}

/** Letters and digits of scripts that write blanks between words, in lower case. */
function isWordCode(code: number): boolean {
  return (
    (code >= 97 && code <= 122) || // a-z
    (code >= 48 && code <= 57) ||
    (code >= 0xdf && code <= 0x24f) ||
    (code >= 0x370 && code <= 0x1fff && !isDense(code) && !punctuation.has(code)) || // Greek, Cyrillic, Hebrew, Arabic, Indic scripts …
    (code >= 0xac00 && code <= 0xd7af) // Hangul
  );
}

/** Characters of scripts without blanks between words: Chinese, Japanese, Thai, Lao. Each counts as a word. */
export function isDense(code: number): boolean {
  return (code >= 0x3040 && code <= 0x30ff) || (code >= 0x3400 && code <= 0x9fff) || (code >= 0xe00 && code <= 0xeff);
}
