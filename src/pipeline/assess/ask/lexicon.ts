import { isJoint, isLetter, isUnspaced } from "./characters.ts";

/**
 * Words by what they stand for, and a reader that finds them in one walk over a text. Notation of a list: blanks between words,
 * `encrypt*` any ending, `sign_in` words behind each other. A plural's `s` is no other word. Terms of scripts without blanks (Chinese,
 * Japanese, Thai) are found wherever they stand.
 */
export class Lexicon {
  /** By the word that they are or begin with, by their stem, or by the first character where no blanks are written. */
  readonly #terms = new Map<string, Term[]>();
  /** Which hashes of words and stems occur: most words of a text stand for nothing, and are not looked up. */
  readonly #known = new Uint8Array(buckets);

  constructor(lists: Readonly<Record<string, string>>) {
    for (const [tag, terms] of Object.entries(lists)) {
      for (const term of terms.split(/\s+/)) if (term !== "") this.#add(term, tag);
    }
  }

  #add(term: string, tag: string): void {
    const open = term.endsWith("*");
    const text = open ? term.slice(0, -1) : term;
    const [word = "", ...others] = text.split(/[_-]/);
    const spaced = !isUnspaced(term.charCodeAt(0));
    const key = spaced ? word : term.charAt(0);
    const rest = spaced ? others.join(" ") : text;
    const terms = this.#terms.get(key) ?? [];
    this.#terms.set(key, [...terms, { rest, open, tag }]);
    let hash = 0;
    for (let at = 0; at < key.length; at++) hash = nextHash(hash, key.charCodeAt(at));
    const bucket = bucketOf(hash);
    this.#known[bucket] = (this.#known[bucket] ?? 0) | (open && rest === "" ? stem : whole);
  }

  /** @param text in lower case */
  read(text: string): Named {
    const named = new Named();
    let start = -1;
    let hash = 0;
    /** The hash without the last letter; a bit for each length at which a stem may end. */
    let before = 0;
    let stems = 0;
    let isName = false;
    for (let at = 0; at <= text.length; at++) {
      const code = at < text.length ? text.charCodeAt(at) : 0x20;
      if (isLetter(code)) {
        if (start < 0) {
          start = at;
          hash = stems = 0;
          isName = false;
        }
        before = hash;
        hash = nextHash(hash, code);
        if ((this.#known[bucketOf(hash)] ?? 0) >= stem && at - start < longest) stems |= 1 << (at - start);
        continue;
      }
      if (start >= 0) {
        // Joints between letters make a name of a program of them: `auth/login.py`, `user_id`.
        if (isJoint(code) && isLetter(text.charCodeAt(at + 1))) {
          isName = true;
          continue;
        }
        named.words++;
        let end = at;
        if (!isName && (stems !== 0 || this.#isWhole(hash) || (this.#isWhole(before) && text[at - 1] === "s"))) {
          end = this.#addWord(named, text, start, at, stems);
        }
        start = -1;
        if (end > at) {
          at = end - 1;
          continue;
        }
      }
      if (!isUnspaced(code)) continue;
      for (const term of this.#terms.get(text.charAt(at)) ?? none) {
        if (text.startsWith(term.rest, at)) named.add(term.tag, term.rest);
      }
      named.letters++;
    }
    return named;
  }

  #isWhole(hash: number): boolean {
    return ((this.#known[bucketOf(hash)] ?? 0) & whole) !== 0;
  }

  /** Adds what a word stands for, or the longest phrase that it begins, and returns where that ends. */
  #addWord(named: Named, text: string, start: number, end: number, stems: number): number {
    const word = text.slice(start, end);
    const terms = this.#terms.get(word) ?? none;
    let longestEnd = end;
    for (const term of terms) if (term.rest !== "") longestEnd = Math.max(longestEnd, endOf(term, text, end));
    for (const term of longestEnd > end ? terms : none) {
      if (term.rest !== "" && endOf(term, text, end) === longestEnd) named.add(term.tag, `${word} ${term.rest}`);
    }
    if (longestEnd > end) return longestEnd;
    this.#addTerms(named, word, word, false);
    if (word.endsWith("s")) this.#addTerms(named, word.slice(0, -1), word, false);
    for (let length = 1; stems !== 0; length++, stems >>>= 1) {
      if ((stems & 1) === 1) this.#addTerms(named, word.slice(0, length), word, true);
    }
    return end;
  }

  #addTerms(named: Named, key: string, word: string, stems: boolean): void {
    for (const { rest, open, tag } of this.#terms.get(key) ?? none) {
      if (rest === "" && open === stems) named.add(tag, word);
    }
  }
}

interface Term {
  /** Of a phrase the words behind the first, joined by blanks; of an unspaced term the whole of it. */
  readonly rest: string;
  /** Any ending may follow. */
  readonly open: boolean;
  readonly tag: string;
}

/** Where a phrase ends whose first word ends at a place; -1 where other words stand behind it. */
function endOf({ rest, open }: Term, text: string, from: number): number {
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

/** Characters by which forms of one word are the same, and to which stems are looked for. */
const sameWord = 4;
const longest = 31;
const buckets = 0x1_0000;
/** A word, or the first of a phrase; a stem. */
const whole = 1;
const stem = 2;
const none: readonly never[] = [];

function nextHash(hash: number, code: number): number {
  return (Math.imul(hash, 0x01000193) + code) | 0;
}

function bucketOf(hash: number): number {
  return (hash ^ (hash >>> 16)) & (buckets - 1);
}
