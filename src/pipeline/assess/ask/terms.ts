import { type Word, wordOf } from "#platform/words.ts";
import type { AskText } from "./ask-text.ts";

export function joined(words: readonly Word[], separator = " "): string {
  return words.map(({ text }) => text).join(separator);
}

/** Characters that a Chinese or Japanese word takes in the place of a word with blanks around it. */
const charactersPerWord = 2;
const shortestBeginning = 2;
/** Characters by which forms of one word are the same. */
const sameWord = 4;
/** Words of the longest term. */
const longestTerm = 3;
/** Vocabularies that note what a word stands for: one of them is made anew with each policy. */
const maxMeanings = 4;

/** What a word or a term stands for. */
interface Meaning<Tag> {
  /** The vocabulary that says so. */
  readonly of: object;
  readonly tags: readonly Tag[];
  /** Beginnings of the words behind it in terms of several. */
  readonly seconds: readonly string[];
}

export class Vocabulary<Tag extends string> {
  readonly #terms = new Map<string, Tag[]>();
  /** Beginnings of terms, by their first characters. */
  readonly #beginnings = new Map<string, (readonly [beginning: string, tag: Tag])[]>();
  /** Of terms of several words: by their first word, beginnings of the second. */
  readonly #seconds = new Map<string, string[]>();
  /** Terms that are looked for anywhere: their script has no blanks. */
  readonly #unspaced: (readonly [term: string, tag: Tag])[] = [];

  /** @param lists words by what they stand for: `*` ends a beginning; several words are joined by `_` */
  constructor(lists: Readonly<Record<Tag, string>>) {
    for (const [tag, terms] of Object.entries(lists) as [Tag, string][]) {
      for (const term of terms.trim().split(/\s+/)) this.add(term, tag);
    }
  }

  add(term: string, tag: Tag): void {
    if (/[\u3040-\u30ff\u3400-\u9fff]/.test(term)) this.#unspaced.push([term, tag]);
    else if (term.endsWith("*")) append(this.#beginnings, term.slice(0, shortestBeginning), [term.slice(0, -1), tag]);
    else append(this.#terms, term, tag);
    const [first = "", second] = term.split(/[_*]/);
    if (second) append(this.#seconds, first, second);
  }

  /** Reads the first words of a text, all when no reach is given. The longest term that begins at a word wins. */
  read({ words, unspaced }: AskText, reach = Number.POSITIVE_INFINITY): Named<Tag> {
    const named = new Named<Tag>();
    const end = Math.min(reach, words.length);
    for (let at = 0; at < end; ) {
      const word = words[at];
      if (word === undefined) break;
      let term = word.text;
      let meaning = this.#meaningOf(word);
      let taken = 1;
      const next = words[at + 1]?.text ?? "";
      if (meaning.seconds.some((second) => next.startsWith(second))) {
        for (taken = Math.min(longestTerm, end - at); taken > 1; taken--) {
          const longer = joined(words.slice(at, at + taken), "_");
          const found = this.#meaningOf(wordOf(longer));
          if (found.tags.length === 0) continue;
          [term, meaning] = [longer, found];
          break;
        }
      }
      if (meaning.tags.length > 0) named.add(term, meaning.tags, at);
      at += taken;
    }
    for (const [term, tag] of unspaced === "" ? none : this.#unspaced) {
      for (let at = unspaced.indexOf(term); at >= 0; at = unspaced.indexOf(term, at + term.length)) {
        const place = Math.floor(at / charactersPerWord);
        if (place < reach) named.add(term, [tag], place);
      }
    }
    return named;
  }

  #meaningOf({ text, meanings }: Word): Meaning<Tag> {
    for (const meaning of meanings) if (meaning.of === this) return meaning as Meaning<Tag>; // this one has noted it
    const meaning = { of: this, tags: this.#tagsOf(text), seconds: this.#seconds.get(text) ?? none };
    if (meanings.length >= maxMeanings) meanings.length = 0;
    meanings.push(meaning);
    return meaning;
  }

  /** Of a term itself, without a plural's end, and of all beginnings of it. */
  #tagsOf(term: string): readonly Tag[] {
    let tags: readonly Tag[] = this.#terms.get(term) ?? none;
    const add = (tag: Tag) => {
      if (!tags.includes(tag)) tags = [...tags, tag];
    };
    if (term.endsWith("s")) this.#terms.get(term.slice(0, -1))?.forEach(add);
    // A beginning leaves only the end of the last word open.
    const lastWord = term.lastIndexOf("_") + 1;
    for (const [beginning, tag] of this.#beginnings.get(term.slice(0, shortestBeginning)) ?? none) {
      if (beginning.length > lastWord && term.startsWith(beginning)) add(tag);
    }
    return tags;
  }
}

/** Where a text names what. */
export class Named<Tag extends string> {
  readonly #places = new Map<Tag, { first: number; readonly terms: string[] }>();

  /** @param at index of the word */
  add(term: string, tags: readonly Tag[], at: number): void {
    for (const tag of tags) {
      const place = this.#places.get(tag);
      if (place === undefined) this.#places.set(tag, { first: at, terms: [term] });
      else {
        place.first = Math.min(place.first, at);
        place.terms.push(term);
      }
    }
  }

  count(tag: Tag): number {
    return this.#places.get(tag)?.terms.length ?? 0;
  }

  /** How many different words. */
  distinct(tag: Tag): number {
    return new Set(this.#places.get(tag)?.terms.map((term) => term.slice(0, sameWord))).size;
  }

  /** Index of the first such word; Infinity when there is none. */
  first(tag: Tag): number {
    return this.#places.get(tag)?.first ?? Number.POSITIVE_INFINITY;
  }
}

const none: readonly never[] = [];

function append<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}
