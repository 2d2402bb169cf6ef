import type { AskText } from "./ask-text.ts";

/** Words that stand for something, by what they stand for. `*` ends a beginning; several words are joined by `_`. */
export type TermLists<Tag extends string> = Readonly<Record<Tag, string>>;

/** Where a text names what: the index of the word, for each time. */
export interface Named<Tag extends string> {
  count(tag: Tag): number;
  /** How many different words. */
  distinct(tag: Tag): number;
  /** Index of the first such word; Infinity when there is none. */
  first(tag: Tag): number;
}

/** Characters that a Chinese or Japanese word takes in the place of a word with blanks around it. */
const charactersPerWord = 2;
const shortestBeginning = 2;
/** Characters by which forms of one word are the same. */
const sameWord = 4;
/** Words of the longest term. */
const longestTerm = 3;
/** Words and terms whose meaning is kept, and how long they may be: a word may be a whole encoded file. */
const maxKnown = 5_000;
const maxKnownLength = 40;

interface Meaning<Tag> {
  readonly tags: readonly Tag[];
  /** Whether it is the first word of a term of several. */
  readonly beginsTerm: boolean;
}

export class Vocabulary<Tag extends string> {
  readonly #terms = new Map<string, Tag[]>();
  /** Beginnings of terms, by their first characters. */
  readonly #beginnings = new Map<string, (readonly [beginning: string, tag: Tag])[]>();
  /** First words of terms of several words. */
  readonly #firstWords = new Set<string>();
  /** Terms that are looked for anywhere: their script has no blanks. */
  readonly #unspaced: (readonly [term: string, tag: Tag])[] = [];
  /** What words and terms that were read before stand for: most words of an ask have stood in another. */
  readonly #known = new Map<string, Meaning<Tag>>();

  constructor(lists: TermLists<Tag>) {
    for (const [tag, terms] of Object.entries(lists) as [Tag, string][]) {
      for (const term of terms.trim().split(/\s+/)) this.add(term, tag);
    }
  }

  add(term: string, tag: Tag): void {
    if (/[\u3040-\u30ff\u3400-\u9fff]/.test(term)) this.#unspaced.push([term, tag]);
    else if (term.endsWith("*")) append(this.#beginnings, term.slice(0, shortestBeginning), [term.slice(0, -1), tag]);
    else append(this.#terms, term, tag);
    const end = term.indexOf("_");
    if (end > 0) this.#firstWords.add(term.slice(0, end));
  }

  /** Reads the first words of a text, all when no reach is given. The longest term that begins at a word wins. */
  read({ words, unspaced }: AskText, reach = Number.POSITIVE_INFINITY): Named<Tag> {
    const places = new Map<Tag, { first: number; readonly terms: string[] }>();
    const found = (term: string, tags: readonly Tag[], at: number) => {
      for (const tag of tags) {
        const place = places.get(tag);
        if (place === undefined) places.set(tag, { first: at, terms: [term] });
        else {
          place.first = Math.min(place.first, at);
          place.terms.push(term);
        }
      }
    };
    const end = Math.min(reach, words.length);
    for (let at = 0; at < end; ) {
      let term = words[at] ?? "";
      let meaning = this.#meaningOf(term);
      let taken = 1;
      if (meaning.beginsTerm) {
        for (taken = Math.min(longestTerm, end - at); taken > 1; taken--) {
          const longer = words.slice(at, at + taken).join("_");
          const found = this.#meaningOf(longer);
          if (found.tags.length === 0) continue;
          [term, meaning] = [longer, found];
          break;
        }
      }
      if (meaning.tags.length > 0) found(term, meaning.tags, at);
      at += taken;
    }
    for (const [term, tag] of unspaced === "" ? [] : this.#unspaced) {
      for (let at = unspaced.indexOf(term); at >= 0; at = unspaced.indexOf(term, at + term.length)) {
        const place = Math.floor(at / charactersPerWord);
        if (place < reach) found(term, [tag], place);
      }
    }
    return {
      count: (tag) => places.get(tag)?.terms.length ?? 0,
      distinct: (tag) => new Set(places.get(tag)?.terms.map((term) => term.slice(0, sameWord))).size,
      first: (tag) => places.get(tag)?.first ?? Number.POSITIVE_INFINITY,
    };
  }

  #meaningOf(term: string): Meaning<Tag> {
    let meaning = this.#known.get(term);
    if (meaning === undefined) {
      meaning = { tags: this.#tagsOf(term), beginsTerm: this.#firstWords.has(term) };
      if (this.#known.size >= maxKnown) this.#known.clear();
      if (term.length <= maxKnownLength) this.#known.set(term, meaning);
    }
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

const none: readonly never[] = [];

function append<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}
