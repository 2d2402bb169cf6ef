/**
 * Words by what they stand for, and a reader that finds them in one walk over a text. Notation of a list: blanks between words,
 * `encrypt*` any ending, `sign_in` two or three words behind each other. A plural's `s` is no other word. Terms of scripts without blanks
 * (Chinese, Japanese, Thai) are found wherever they stand.
 */
export class Lexicon<Tag extends string> {
  readonly #words = new Map<string, Tag[]>();
  /** By the first characters of words. */
  readonly #beginnings = new Map<string, (readonly [beginning: string, tag: Tag])[]>();
  /** By their first word. */
  readonly #phrases = new Map<string, Phrase<Tag>[]>();
  /** By their first character. */
  readonly #unspaced = new Map<string, (readonly [term: string, tag: Tag])[]>();
  /** Which beginnings of words occur at all: most words of a text stand for nothing, and are not looked up. */
  readonly #known = new Uint8Array(4_096);

  constructor(lists: Readonly<Partial<Record<Tag, string>>>) {
    for (const [tag, terms] of Object.entries(lists) as [Tag, string][]) {
      for (const term of terms.split(/\s+/)) if (term !== "") this.#add(term, tag);
    }
  }

  #add(term: string, tag: Tag): void {
    const open = term.endsWith("*");
    const plain = open ? term.slice(0, -1) : term;
    const [first = "", ...rest] = plain.split(/[_-]/);
    if (kindOf(term.charCodeAt(0)) === unspacedLetter) append(this.#unspaced, term.charAt(0), [plain, tag]);
    else if (rest.length > 0) append(this.#phrases, first, { rest: rest.join(" "), open, tag });
    else if (open) append(this.#beginnings, plain.slice(0, shortest), [plain, tag]);
    else append(this.#words, plain, tag);
    let hash = 0;
    for (let at = 0; at < Math.min(first.length, shortest); at++) hash = hash * 31 + plain.charCodeAt(at);
    this.#known[hash & 4_095] = 1;
  }

  /** @param text in lower case; a phrase may end behind `to` */
  read(text: string, from = 0, to: number = text.length): Named<Tag> {
    const named = new Named<Tag>();
    let start = -1;
    let hash = 0;
    let isName = false;
    for (let at = from; at <= to; at++) {
      const code = at < to ? text.charCodeAt(at) : 0x20;
      const kind = kindOf(code);
      if (kind === letter) {
        if (start < 0) {
          start = at;
          hash = 0;
          isName = false;
        }
        if (at - start < shortest) hash = hash * 31 + code;
        continue;
      }
      if (start >= 0) {
        // Joints between letters make a name of a program of them: `auth/login.py`, `user_id`.
        if (kind === joint && at + 1 < to && kindOf(text.charCodeAt(at + 1)) === letter) {
          isName = true;
          continue;
        }
        const end = isName ? at : this.#addWord(named, text, start, at, hash);
        start = -1;
        if (end > at) {
          at = end - 1;
          continue;
        }
      }
      if (kind === unspacedLetter) {
        for (const [term, tag] of this.#unspaced.get(text.charAt(at)) ?? none) {
          if (text.startsWith(term, at)) named.add(tag, term);
        }
        named.letters++;
      }
    }
    return named;
  }

  /** Adds what a word stands for, or the longest phrase that it begins, and returns where that ends. */
  #addWord(named: Named<Tag>, text: string, start: number, end: number, hash: number): number {
    named.words++;
    if (this.#known[hash & 4_095] === 0 || end - start > longest) return end;
    const word = text.slice(start, end);
    let longestEnd = end;
    for (const phrase of this.#phrases.get(word) ?? none) longestEnd = Math.max(longestEnd, endOf(phrase, text, end));
    if (longestEnd > end) {
      for (const phrase of this.#phrases.get(word) ?? none) {
        if (endOf(phrase, text, end) === longestEnd) named.add(phrase.tag, `${word} ${phrase.rest}`);
      }
      return longestEnd;
    }
    for (const tag of this.#words.get(word) ?? none) named.add(tag, word);
    if (word.endsWith("s")) for (const tag of this.#words.get(word.slice(0, -1)) ?? none) named.add(tag, word);
    for (const [beginning, tag] of this.#beginnings.get(word.slice(0, shortest)) ?? none) {
      if (word.startsWith(beginning)) named.add(tag, word);
    }
    return end;
  }
}

interface Phrase<Tag> {
  /** The words behind the first, joined by blanks. */
  readonly rest: string;
  /** Any ending may follow. */
  readonly open: boolean;
  readonly tag: Tag;
}

/** Where a phrase ends whose first word ends at a place; -1 where other words stand behind it. */
function endOf({ rest, open }: Phrase<unknown>, text: string, from: number): number {
  let at = from + 1;
  for (let place = -1; place < rest.length; place++) {
    const code = text.charCodeAt(from + 1 + place);
    const isBlank = code === 0x20 || code === 0x2d || code === 0x0a;
    if (place < 0 || rest.charCodeAt(place) === 0x20 ? !isBlank : rest.charCodeAt(place) !== code) return -1;
  }
  at += rest.length;
  if (!open && text.charCodeAt(at) === 0x73) at++; // a plural
  if (open) while (kindOf(text.charCodeAt(at)) === letter) at++;
  return kindOf(text.charCodeAt(at)) === letter ? -1 : at;
}

/** What a text names. */
export class Named<Tag extends string> {
  /** Words, and letters of scripts without blanks. */
  words = 0;
  letters = 0;
  readonly #places = new Map<Tag, { readonly first: number; readonly terms: string[] }>();

  add(tag: Tag, term: string): void {
    const place = this.#places.get(tag);
    if (place === undefined) this.#places.set(tag, { first: this.#at(), terms: [term] });
    else place.terms.push(term);
  }

  /** Two letters of a script without blanks take the place of a word. */
  #at(): number {
    return Math.max(0, this.words - 1) + Math.floor(this.letters / 2);
  }

  has(tag: Tag): boolean {
    return this.#places.has(tag);
  }

  count(tag: Tag): number {
    return this.#places.get(tag)?.terms.length ?? 0;
  }

  /** How many different words; forms of one word begin alike. */
  distinct(tag: Tag): number {
    return new Set(this.#places.get(tag)?.terms.map((term) => term.slice(0, sameWord))).size;
  }

  /** Index of the first such word; Infinity when there is none. */
  first(tag: Tag): number {
    return this.#places.get(tag)?.first ?? Number.POSITIVE_INFINITY;
  }
}

/** Characters by which words are grouped, and by which forms of one word are the same; longer words stand for nothing. */
const shortest = 2;
const sameWord = 4;
const longest = 40;
const none: readonly never[] = [];

/** What a character is to a reader of words. */
const blank = 1;
const letter = 2;
/** Between letters it makes a name of them. */
const joint = 3;
/** Letters of scripts without blanks. */
const unspacedLetter = 4;
/** By UTF-16 code unit; 0: not known yet. Halves of surrogate pairs, most of them emoji, count as blanks. */
const kinds = new Uint8Array(0x1_0000);

export function kindOf(code: number): number {
  const known = kinds[code] ?? blank; // NaN behind the end of a text
  return known !== 0 ? known : readKind(code);
}

function readKind(code: number): number {
  const character = String.fromCharCode(code);
  let kind = blank;
  if (/[_./@:\\]/.test(character)) kind = joint;
  else if (/[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]/.test(character)) kind = unspacedLetter;
  else if (/[\p{L}\p{M}\p{N}]/u.test(character)) kind = letter;
  kinds[code] = kind;
  return kind;
}

function append<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}
