import { expect, test } from "bun:test";
import fc from "fast-check";
import { betweenWords, classOf } from "./term-characters.ts";
import { termMeanings } from "./term-meanings.ts";
import {
  beginsWord,
  maxScannedCharacters,
  standsInName,
  type TermTrie,
  termScanner,
  termSlot,
  wordsBefore,
} from "./term-scan.ts";

/** A term, whether words may go on behind it, and whether it names nothing. */
interface Term {
  readonly text: string;
  readonly open: boolean;
  readonly skips: boolean;
}

const terms: readonly Term[] = [
  { text: "a", open: false, skips: false },
  { text: "ab", open: true, skips: false },
  { text: "ab c", open: false, skips: true },
  { text: "c", open: false, skips: false },
  { text: "字", open: true, skips: false },
  { text: "字a", open: true, skips: true },
];

const isWord = (character: string | undefined) => character !== undefined && /[a-c]/i.test(character);
const isDense = (character: string | undefined) => character === "字";
const reaches = (text: string) => terms.some((term) => term.text.startsWith(text));
const texts = [...new Set(terms.flatMap(({ text }) => Array.from(text, (_, at) => text.slice(0, at + 1))))];
const symbols = ["", "a", "b", "c", " ", "字"];

/** One slot for each beginning of a term; children lie at the base of their parent, which is spread so that no two meet. */
function trie(): TermTrie & { readonly textOf: ReadonlyMap<number, string> } {
  const symbolOf = new Uint16Array(0x10000);
  const classOf = new Uint8Array(0x10000);
  for (const [number, character] of symbols.entries())
    for (const each of [character, character.toUpperCase()]) if (each !== "") symbolOf[each.charCodeAt(0)] = number;
  for (const character of "abcABC") classOf[character.charCodeAt(0)] = 1;
  classOf["字".charCodeAt(0)] = 2;
  const slotOf = new Map([["", 1]]);
  const base = [0, 10];
  const parentOf = [0, 0];
  const byLength = texts.toSorted((a, b) => a.length - b.length);
  for (const [number, text] of byLength.entries()) {
    const parent = slotOf.get(text.slice(0, -1)) ?? 0;
    const slot = (base[parent] ?? 0) + symbols.indexOf(text.slice(-1));
    while (base.length <= slot) {
      base.push(0);
      parentOf.push(0);
    }
    slotOf.set(text, slot);
    base[slot] = 20 + 10 * number;
    parentOf[slot] = parent;
  }
  const textOf = new Map([...slotOf].map(([text, slot]) => [slot, text]));
  const endings = terms.map(({ text, open, skips }) => ({
    slot: slotOf.get(text) ?? 0,
    whole: skips,
    ...(open ? { begin: skips } : {}),
  }));
  return { symbolOf, classOf, base, parentOf, textOf, endings };
}

const built = trie();
const scan = termScanner(built);

function scanned(text: string) {
  const { words, distinctWords, found, terms: numbers } = scan(text);
  const list = [...numbers.subarray(0, found)].map((term) => ({
    term: built.textOf.get(termSlot(term)),
    begins: beginsWord(term),
    inName: standsInName(term),
    before: wordsBefore(term),
  }));
  return { words, distinctWords, list };
}

/** The same, step by step. */
function expected(text: string): ReturnType<typeof scanned> {
  const list = [];
  const seen = new Set<string>();
  let words = 0;
  let halves = 0;
  let skipTo = 0;
  for (let at = 0; at < text.length; ) {
    if (!isWord(text[at]) && !isDense(text[at])) {
      at++;
      continue;
    }
    if (at >= skipTo) {
      let found: { readonly term: Term; readonly end: number; readonly begins: boolean } | undefined;
      for (let end = at + 1; end <= text.length && reaches(text.slice(at, end).toLowerCase()); end++) {
        const begins = isWord(text[end]);
        const term = terms.find((each) => each.text === text.slice(at, end).toLowerCase() && (!begins || each.open));
        if (term !== undefined) found = { term, end, begins };
      }
      if (found !== undefined) {
        const { term, end, begins } = found;
        if (term.skips) skipTo = end;
        const isFile = text[end] === "." && isWord(text[end + 1]);
        const inName = text[end] === "(" || text[at - 1] === "_" || isFile;
        list.push({ term: term.text, begins, inName, before: Math.floor(halves / 2) });
      }
    }
    words++;
    halves += isDense(text[at]) ? 1 : 2;
    let end = at + 1;
    while (isWord(text[at]) && isWord(text[end])) end++;
    seen.add(text.slice(at, end).toLowerCase());
    at = end;
  }
  return { words, distinctWords: seen.size, list };
}

test("finds the longest term at each word, and counts words", () => {
  expect(scanned("AB c, ab (")).toEqual({
    words: 3,
    distinctWords: 2,
    list: [
      { term: "ab c", begins: false, inName: false, before: 0 },
      { term: "ab", begins: false, inName: false, before: 2 },
    ],
  });
  expect(scanned("")).toEqual({ words: 0, distinctWords: 0, list: [] });
});

test("finds what a search step by step finds, whatever was scanned before", () => {
  const character = fc.constantFrom(..."aabbcABC字 _(.é\0");
  fc.assert(
    fc.property(fc.array(character, { maxLength: 60 }), (characters) => {
      const text = characters.join("");
      const { distinctWords, ...found } = scanned(text);
      const { distinctWords: exact, ...wanted } = expected(text);
      expect(found).toEqual(wanted);
      // Different words whose hashes meet count once.
      expect(distinctWords).toBeLessThanOrEqual(exact);
      expect(distinctWords).toBeGreaterThanOrEqual(exact - 2);
    }),
    { numRuns: 1_000 },
  );
});

test("reads texts of the greatest length, and none that are longer", () => {
  expect(scanned("a ".repeat(maxScannedCharacters / 2)).words).toBe(maxScannedCharacters / 2);
  expect(() => scan("a".repeat(maxScannedCharacters + 1))).toThrow(RangeError);
});

test("every term of the vocabulary begins where a word begins, as only there it is looked for", () => {
  const unreachable = termMeanings().filter(({ text }) => classOf[text.charCodeAt(0)] === betweenWords);
  expect(unreachable.map(({ text }) => text)).toEqual([]);
});
