import { doubleArray } from "./double-array.ts";
import { classOf, eachCapital } from "./term-characters.ts";
import { placeOf, termMeanings, topics } from "./term-meanings.ts";
import { beginsWord, maxSlots, standsInName, termScanner, termSlot, wordsBefore } from "./term-scan.ts";
import type { Topic } from "./topic-terms.ts";

/** Topics that a part of a name does not name. */
const unsaidInNames: ReadonlySet<number> = new Set([
  placeOf.acting,
  placeOf.authWeak,
  placeOf.paymentWeak,
  placeOf.securityWeak,
]);

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

/** Made in a function, so that what is needed only meanwhile does not stay in memory. */
function readVocabulary() {
  const terms = termMeanings();
  const texts = terms.map(({ text }) => text);
  const symbolOf = symbolsOf(texts);
  const { base, parentOf, endOf } = doubleArray(texts, symbolOf, maxSlots);
  const lists = new SharedLists();
  const wholes = new Uint16Array(base.length);
  const begins = new Uint16Array(base.length);
  const endings = terms.map(({ whole, begin }, index) => {
    const slot = endOf[index] ?? 0;
    wholes[slot] = lists.numberOf(whole);
    if (begin !== undefined) begins[slot] = lists.numberOf(begin);
    return { slot, whole: namesNothing(whole), ...(begin === undefined ? {} : { begin: namesNothing(begin) }) };
  });
  const scan = termScanner({ symbolOf, classOf, base, parentOf, endings });
  return { scan, wholes, begins, named: lists.named };
}

function namesNothing(list: readonly number[]): boolean {
  return list[0] === placeOf.elsewhere;
}

/** A number for each letter that occurs in terms; 0 for all others. Capitals have those of their small letters. */
function symbolsOf(texts: readonly string[]): Uint16Array {
  const symbolOf = new Uint16Array(0x10000);
  for (const [index, letter] of [...new Set(texts.join(""))].entries()) symbolOf[letter.charCodeAt(0)] = index + 1;
  eachCapital((capital, small) => {
    symbolOf[capital] = symbolOf[small] ?? 0;
  });
  return symbolOf;
}

/** Lists of topics. Thousands of terms share a few hundred of them. */
class SharedLists {
  /** By their numbers; the first stands for none. */
  readonly named: (readonly number[])[] = [[]];
  readonly #numbers = new Map<string, number>();

  numberOf(list: readonly number[]): number {
    const key = list.join();
    let number = this.#numbers.get(key);
    if (number === undefined) {
      number = this.named.push(list) - 1;
      this.#numbers.set(key, number);
    }
    return number;
  }
}

/** The scanner, and by slot the number of the list of topics that the term of the slot names. */
const { scan, wholes, begins, named } = readVocabulary();

/** Counts the vocabulary's terms in one pass over a text, which the caller keeps short. Longest term wins at each word. */
export function topicCountsOf(text: string): TopicCounts {
  const { words, distinctWords, found, terms } = scan(text);
  const counted = new Counted(words, distinctWords);
  for (let at = 0; at < found; at++) {
    const term = terms[at] ?? 0;
    const list = named[(beginsWord(term) ? begins : wholes)[termSlot(term)] ?? 0];
    if (list !== undefined) counted.name(list, wordsBefore(term), standsInName(term));
  }
  return counted;
}
