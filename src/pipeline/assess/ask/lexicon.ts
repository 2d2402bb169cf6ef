import { isJoint, isLetter, isUnspaced } from "./characters.ts";

/**
 * Words by what they stand for, and a reader that finds them in one walk over a text. Notation of a list: blanks between words,
 * `encrypt*` any ending, `sign_in` words behind each other. A plural's `s` is no other word. Terms of scripts without blanks (Chinese,
 * Japanese, Thai) are found wherever they stand.
 */
export class Lexicon {
  readonly #words = new Map<string, string[]>();
  /** By the first characters of words, by the first word of phrases, by the first character of unspaced terms. */
  readonly #beginnings = new Map<string, Term[]>();
  readonly #phrases = new Map<string, Term[]>();
  readonly #unspaced = new Map<string, Term[]>();
  /** Which beginnings of words occur at all: most words of a text stand for nothing, and are not looked up. */
  readonly #known = new Uint8Array(buckets);

  constructor(lists: Readonly<Record<string, string>>) {
    for (const [tag, terms] of Object.entries(lists)) {
      for (const term of terms.split(/\s+/)) if (term !== "") this.#add(term, tag);
    }
  }

  #add(term: string, tag: string): void {
    const open = term.endsWith("*");
    const text = open ? term.slice(0, -1) : term;
    const [first = "", ...rest] = text.split(/[_-]/);
    if (isUnspaced(term.charCodeAt(0))) append(this.#unspaced, term.charAt(0), { text, open, tag });
    else if (rest.length > 0) append(this.#phrases, first, { text: rest.join(" "), open, tag });
    else if (open) append(this.#beginnings, text.slice(0, shortest), { text, open, tag });
    else append(this.#words, text, tag);
    let hash = 0;
    for (let at = 0; at < Math.min(first.length, shortest); at++) hash = hash * 31 + text.charCodeAt(at);
    this.#known[hash & (buckets - 1)] = 1;
  }

  /** @param text in lower case */
  read(text: string): Named {
    const named = new Named();
    let start = -1;
    let hash = 0;
    let isName = false;
    for (let at = 0; at <= text.length; at++) {
      const code = text.charCodeAt(at); // NaN at the end
      if (isLetter(code)) {
        if (start < 0) [start, hash, isName] = [at, 0, false];
        if (at - start < shortest) hash = hash * 31 + code;
        continue;
      }
      if (start >= 0) {
        // Joints between letters make a name of a program of them: `auth/login.py`, `user_id`.
        if (isJoint(code) && isLetter(text.charCodeAt(at + 1))) {
          isName = true;
          continue;
        }
        const isKnown = !isName && this.#known[hash & (buckets - 1)] === 1 && at - start <= longest;
        named.words++;
        const end = isKnown ? this.#addWord(named, text, start, at) : at;
        start = -1;
        if (end > at) {
          at = end - 1;
          continue;
        }
      }
      if (!isUnspaced(code)) continue;
      for (const term of this.#unspaced.get(text.charAt(at)) ?? none) {
        if (text.startsWith(term.text, at)) named.add(term.tag, term.text);
      }
      named.letters++;
    }
    return named;
  }

  /** Adds what a word stands for, or the longest phrase that it begins, and returns where that ends. */
  #addWord(named: Named, text: string, start: number, end: number): number {
    const word = text.slice(start, end);
    let longestEnd = end;
    const phrases = this.#phrases.get(word) ?? none;
    for (const phrase of phrases) longestEnd = Math.max(longestEnd, endOf(phrase, text, end));
    for (const phrase of longestEnd > end ? phrases : none) {
      if (endOf(phrase, text, end) === longestEnd) named.add(phrase.tag, `${word} ${phrase.text}`);
    }
    if (longestEnd > end) return longestEnd;
    for (const tag of this.#words.get(word) ?? none) named.add(tag, word);
    if (word.endsWith("s")) for (const tag of this.#words.get(word.slice(0, -1)) ?? none) named.add(tag, word);
    for (const beginning of this.#beginnings.get(word.slice(0, shortest)) ?? none) {
      if (word.startsWith(beginning.text)) named.add(beginning.tag, word);
    }
    return end;
  }
}

interface Term {
  /** Of a phrase the words behind the first, joined by blanks. */
  readonly text: string;
  /** Any ending may follow. */
  readonly open: boolean;
  readonly tag: string;
}

/** Where a phrase ends whose first word ends at a place; -1 where other words stand behind it. */
function endOf({ text: rest, open }: Term, text: string, from: number): number {
  for (let place = -1; place < rest.length; place++) {
    const code = text.charCodeAt(from + 1 + place);
    const isBlank = code === 0x20 || code === 0x2d || code === 0x0a || code === 0x27;
    if (place < 0 || rest.charCodeAt(place) === 0x20 ? !isBlank : rest.charCodeAt(place) !== code) return -1;
  }
  let at = from + 1 + rest.length;
  if (!open && text.charCodeAt(at) === 0x73) at++; // a plural
  while (open && isLetter(text.charCodeAt(at))) at++;
  return isLetter(text.charCodeAt(at)) ? -1 : at;
}

/** What a text names. */
export class Named {
  /** Words, and letters of scripts without blanks: two of them take the place of a word. */
  words = 0;
  letters = 0;
  readonly #places = new Map<string, { readonly first: number; readonly terms: string[] }>();

  add(tag: string, term: string): void {
    const place = this.#places.get(tag);
    if (place !== undefined) place.terms.push(term);
    else this.#places.set(tag, { first: Math.max(0, this.words - 1) + (this.letters >> 1), terms: [term] });
  }

  has(tag: string): boolean {
    return this.#places.has(tag);
  }

  count(tag: string): number {
    return this.#places.get(tag)?.terms.length ?? 0;
  }

  /** How many different words; forms of one word begin alike. */
  distinct(tag: string): number {
    return new Set(this.#places.get(tag)?.terms.map((term) => term.slice(0, sameWord))).size;
  }

  /** Index of the first such word; Infinity when there is none. */
  first(tag: string): number {
    return this.#places.get(tag)?.first ?? Number.POSITIVE_INFINITY;
  }
}

/** Characters by which words are grouped, and by which forms of one word are the same; longer words stand for nothing. */
const shortest = 2;
const sameWord = 4;
const longest = 40;
const buckets = 4_096;
const none: readonly never[] = [];

function append<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}
