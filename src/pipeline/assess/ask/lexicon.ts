import { isJoint, isLetter, isUnspaced } from "./characters.ts";

/** A letter on the way through the terms; what ends here names these tags. */
interface Node {
  readonly next: Map<number, Node>;
  /** Of terms that end here, and of those that any ending may follow. */
  readonly whole: string[];
  readonly stems: string[];
}

const SPACE = 0x20;
const SMALL_S = 0x73;
const newNode = (): Node => ({ next: new Map(), whole: [], stems: [] });

/**
 * Words by what they stand for, found in one walk over a text. Notation of a list: blanks between words, `encrypt*` any
 * ending, `sign_in` words behind each other. A plural's `s` is no other word. Terms of scripts without blanks (Chinese,
 * Japanese, Thai) are found wherever they stand.
 */
export class Lexicon {
  readonly #root = newNode();

  constructor(lists: Readonly<Record<string, string>>) {
    for (const [tag, terms] of Object.entries(lists)) {
      for (const term of terms.split(/\s+/)) if (term !== "") this.#add(term, tag);
    }
  }

  #add(term: string, tag: string): void {
    const isStem = term.endsWith("*");
    const text = isStem ? term.slice(0, -1) : term;
    let node = this.#root;
    for (const letter of text.replace(/[_-]/g, " ")) {
      const code = letter.charCodeAt(0);
      const next = node.next.get(code) ?? newNode();
      node.next.set(code, next);
      node = next;
    }
    (isStem ? node.stems : node.whole).push(tag);
  }

  /** @param text in lower case */
  read(text: string): Named {
    const named = new Named();
    let start = -1;
    let isName = false;
    /** How far the word's letters lead, and where they led without the last. */
    let node: Node | undefined;
    let before: Node | undefined;
    let stems: readonly Node[] = none;
    for (let at = 0; at <= text.length; at++) {
      const code = at < text.length ? text.charCodeAt(at) : SPACE;
      if (isLetter(code)) {
        if (start < 0) {
          start = at;
          isName = false;
          node = this.#root;
          stems = none;
        }
        before = node;
        node = node?.next.get(code);
        if (node !== undefined && node.stems.length > 0) stems = [...stems, node];
        continue;
      }
      if (start >= 0) {
        // Joints between letters make a name of a program of them: `auth/login.py`, `user_id`.
        if (isJoint(code) && isLetter(text.charCodeAt(at + 1))) {
          isName = true;
          continue;
        }
        named.words++;
        const end = isName ? at : this.#addPhrase(named, node, text, start, at);
        if (!isName && end === at) {
          const word = text.slice(start, at);
          for (const tag of node?.whole ?? none) named.add(tag, word);
          if (text.charCodeAt(at - 1) === SMALL_S) for (const tag of before?.whole ?? none) named.add(tag, word);
          for (const stem of stems) for (const tag of stem.stems) named.add(tag, word);
        }
        start = -1;
        if (end > at) {
          at = end - 1;
          continue;
        }
      }
      if (!isUnspaced(code)) continue;
      for (
        let [end, term] = [at, this.#root.next.get(code)];
        term !== undefined;
        term = term.next.get(text.charCodeAt(end))
      ) {
        end++;
        for (const tag of [...term.whole, ...term.stems]) named.add(tag, text.slice(at, end));
      }
      named.letters++;
    }
    return named;
  }

  /**
   * Adds the longest phrase whose first word ends at a place, and returns its end; the place itself where there is
   * none.
   */
  #addPhrase(named: Named, first: Node | undefined, text: string, start: number, from: number): number {
    let end = from;
    let tags: readonly string[] = none;
    let node = first;
    for (let at = from; node !== undefined; at++) {
      const code = text.charCodeAt(at);
      const isBlank = code === SPACE || code === 0x2d || code === 0x0a || code === 0x27;
      node = node.next.get(isBlank ? SPACE : code);
      if (node === undefined) break;
      let to = text.charCodeAt(at + 1) === SMALL_S ? at + 2 : at + 1; // a plural
      if (node.whole.length > 0 && !isLetter(text.charCodeAt(to)) && to > end) [end, tags] = [to, node.whole];
      if (node.stems.length === 0) continue;
      for (to = at + 1; isLetter(text.charCodeAt(to)); ) to++;
      if (to > end) [end, tags] = [to, node.stems];
    }
    for (const tag of tags) named.add(tag, text.slice(start, end));
    return end;
  }
}

const none: readonly never[] = [];
/** Characters by which forms of one word are the same. */
const sameWord = 4;

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
