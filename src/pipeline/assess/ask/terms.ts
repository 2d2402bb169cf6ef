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

export class Vocabulary<Tag extends string> {
  readonly #words = new Map<string, Tag[]>();
  /** Terms that are looked for anywhere: their script has no blanks. */
  readonly #unspaced: (readonly [term: string, tag: Tag])[] = [];

  constructor(lists: TermLists<Tag>) {
    for (const [tag, terms] of Object.entries(lists) as [Tag, string][]) {
      for (const term of terms.trim().split(/\s+/)) this.add(term, tag);
    }
  }

  add(term: string, tag: Tag): void {
    if (/[\u3040-\u30ff\u3400-\u9fff]/.test(term)) this.#unspaced.push([term, tag]);
    else this.#words.set(term, [...(this.#words.get(term) ?? []), tag]);
  }

  /** Reads the first words of a text, all when no reach is given. The longest term that begins at a word wins. */
  read({ words, unspaced }: AskText, reach = Number.POSITIVE_INFINITY): Named<Tag> {
    const places = new Map<Tag, number[]>();
    const different = new Map<Tag, Set<string>>();
    const found = (term: string, tags: readonly Tag[], at: number) => {
      for (const tag of tags) {
        places.set(tag, [...(places.get(tag) ?? []), at]);
        different.set(tag, (different.get(tag) ?? new Set()).add(term.slice(0, sameWord)));
      }
    };
    const end = Math.min(reach, words.length);
    for (let at = 0; at < end; ) {
      let taken = Math.min(longestTerm, end - at);
      let term = words.slice(at, at + taken).join("_");
      let tags = this.#tagsOf(term);
      while (tags.length === 0 && taken > 1) {
        taken--;
        term = words.slice(at, at + taken).join("_");
        tags = this.#tagsOf(term);
      }
      found(term, tags, at);
      at += taken;
    }
    for (const [term, tag] of unspaced === "" ? [] : this.#unspaced) {
      for (let at = unspaced.indexOf(term); at >= 0; at = unspaced.indexOf(term, at + term.length)) {
        const place = Math.floor(at / charactersPerWord);
        if (place < reach) found(term, [tag], place);
      }
    }
    return {
      count: (tag) => places.get(tag)?.length ?? 0,
      distinct: (tag) => different.get(tag)?.size ?? 0,
      first: (tag) => Math.min(...(places.get(tag) ?? []), Number.POSITIVE_INFINITY),
    };
  }

  /** Of a term itself, without a plural's end, and of all beginnings of it. */
  #tagsOf(word: string): readonly Tag[] {
    const tags = [...(this.#words.get(word) ?? [])];
    if (word.endsWith("s")) tags.push(...(this.#words.get(word.slice(0, -1)) ?? []));
    // A beginning leaves only the end of the last word open.
    for (let end = Math.max(shortestBeginning, word.lastIndexOf("_") + 2); end <= word.length; end++) {
      tags.push(...(this.#words.get(`${word.slice(0, end)}*`) ?? []));
    }
    return new Set(tags).size === tags.length ? tags : [...new Set(tags)];
  }
}
