import foreignRows from "#privacy/rules/foreign-words.jsonl" with { type: "text" };
import { readTable, wordList } from "#privacy/rules/tables.ts";
import { classes, DOT, DOUBLE_QUOTE, EQUALS, HYPHEN, inToken, PLUS, SINGLE_QUOTE, SLASH, SPACE } from "./characters.ts";

/** Stands for characters that are no part of any token. */
const BOUNDARY = 1;
/** Stands for a placeholder that is in the text already: nothing is read across it. */
export const REDACTED = 3;
/** Stands for a change of a terminal's colours. */
export const COLOUR = 2;

export function isWordCharacter(c: number): boolean {
  return c < 0x80 && (((classes[c] ?? 0) & inToken) !== 0 || c === DOT || c === PLUS || c === SLASH);
}

interface ForeignWord {
  readonly word: string;
  readonly replacement: string;
}

/** Key words in scripts that ISO-8859-1 cannot hold, by their first character, and their replacement. */
const foreignWords = new Map<number, ForeignWord[]>();
for (const { replacement, words } of readTable<{ replacement: string; words: string }>(foreignRows)) {
  for (const word of words.split(" ")) {
    const spelled = word.replaceAll("_", " ");
    const first = spelled.charCodeAt(0);
    if (first >= 0x80) foreignWords.set(first, [...(foreignWords.get(first) ?? []), { word: spelled, replacement }]);
  }
}
/** 1 for characters that begin a foreign key word. */
const beginsForeignWord = new Uint8Array(65_536);
for (const first of foreignWords.keys()) beginsForeignWord[first] = 1;
/** No replacement is longer than this many times its word. */
export const maxExpansion = 4;

export function foreignWordAt(text: string, at: number, first: number): ForeignWord | undefined {
  if (beginsForeignWord[first] === 0) return undefined;
  return foreignWords.get(first)?.find(({ word }) => text.startsWith(word, at));
}

/** Letters of other scripts that look like Latin ones, each before its twin. */
const lookAlikes = new Map([...wordList("lookAlikes")].map((pair) => [pair.charCodeAt(0), pair.charCodeAt(1)]));

/** The Latin letter that a letter in a Latin word looks like; undefined for one in a word of its own script. */
export function latinTwin(text: string, at: number): number | undefined {
  const twin = lookAlikes.get(text.charCodeAt(at));
  if (twin === undefined) return undefined;
  let from = at;
  while (at - from < maxTwins && lookAlikes.has(text.charCodeAt(from - 1))) from--;
  if (isLatin(text.charCodeAt(from - 1))) return twin;
  if (text.charCodeAt(from - 1) >= 0x80) return undefined;
  let to = at + 1;
  while (to - at < maxTwins && lookAlikes.has(text.charCodeAt(to))) to++;
  return isLatin(text.charCodeAt(to)) ? twin : undefined;
}

/** Look-alikes in a row that are read from one of them on. */
const maxTwins = 8;
const isLatin = (c: number) => c < 0x80 && ((classes[c] ?? 0) & inToken) !== 0;

/** Stands for a character that depends on its neighbours or cannot be seen. */
const WIDE = 0x1a;
let narrowTable: Uint8Array | undefined;

/** By UTF-16 unit: the byte that stands for it, WIDE where more than one look is needed. */
export function narrowBytes(): Uint8Array {
  narrowTable ??= Uint8Array.from({ length: 65_536 }, (_, unit) => {
    if (unit < 0x80) return unit;
    const isSurrogate = unit >= 0xd800 && unit <= 0xdfff;
    if (isSurrogate || beginsForeignWord[unit] === 1 || lookAlikes.has(unit) || isInvisible(unit)) return WIDE;
    return latin1Of(unit);
  });
  return narrowTable;
}

/** The byte for a character beyond ASCII; -1 for one that cannot be seen. */
export function latin1Of(code: number): number {
  if (isInvisible(code)) return -1;
  if (code > 0x142 && code < 0x2000) return BOUNDARY; // letters of most scripts
  if (code === 0xa0 || code === 0x3000 || (code >= 0x2000 && code <= 0x200a) || code === 0x202f || code === 0x2028)
    return SPACE;
  if (code >= 0xff01 && code <= 0xff5e) return code - 0xfee0; // full-width forms
  if (code === 0x201c || code === 0x201d || code === 0x201e || code === 0xab || code === 0xbb) return DOUBLE_QUOTE;
  if (code >= 0x300a && code <= 0x300f) return DOUBLE_QUOTE; // 《 》 「 」 『 』
  if (code === 0x2192 || code === 0x21d2 || code === 0x2794 || code === 0x27a1) return EQUALS; // arrows
  if (code === 0x142 || code === 0x141) return 0xb3; // ł, where ISO-8859-2 has it
  if (code === 0x2018 || code === 0x2019 || code === 0x201a) return SINGLE_QUOTE;
  if ((code >= 0x2010 && code <= 0x2015) || code === 0x2212) return HYPHEN;
  return code >= 0xc0 && code <= 0xff ? code : BOUNDARY;
}

/** Soft hyphen, grapheme joiner, Arabic letter mark, Hangul fillers, Khmer inherent vowels, byte order mark. */
const invisibleAlone: ReadonlySet<number> = new Set([
  0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0xfeff, 0xffa0,
]);

/** Whether a character has no width and no form of its own (Unicode: `Default_Ignorable_Code_Point`). */
function isInvisible(code: number): boolean {
  if (code < 0x200b) return (code >= 0x180b && code <= 0x180f) || invisibleAlone.has(code);
  // Zero-width spaces and joiners, and what turns the direction of writing.
  if (code <= 0x206f) return code <= 0x200f || code >= 0x2060 || (code >= 0x202a && code <= 0x202e);
  if (code < 0xfe00) return code === 0x3164;
  // Selectors of a variant, and places that are reserved for more of the kind.
  if (code <= 0xffff) return code <= 0xfe0f || (code >= 0xfff0 && code <= 0xfff8) || invisibleAlone.has(code);
  // Marks of shorthand and of music; tags.
  return (
    (code >= 0xe0000 && code <= 0xe0fff) || (code >= 0x1bca0 && code <= 0x1bca3) || (code >= 0x1d173 && code <= 0x1d17a)
  );
}
