/** What a character is to a reader of words. */
const blank = 1;
const letter = 2;
const digit = 3;
/** Between letters it makes a name of them: `auth/login.py`. */
const joint = 4;
const underscore = 5;
/** Letters of scripts without blanks. */
const unspacedLetter = 6;
/** By UTF-16 code unit; 0: not known yet. Halves of surrogate pairs, most of them emoji, count as blanks. */
const kinds = new Uint8Array(0x1_0000);

function kindOf(code: number): number {
  const known = kinds[code] ?? blank;
  if (known !== 0) return known;
  const kind = readKind(String.fromCharCode(code));
  kinds[code] = kind;
  return kind;
}

function readKind(character: string): number {
  if (character === "_") return underscore;
  if (/[./@:\\]/.test(character)) return joint;
  if (/[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]/.test(character)) return unspacedLetter;
  if (/\p{N}/u.test(character)) return digit;
  return /[\p{L}\p{M}]/u.test(character) ? letter : blank;
}

/** A word, the same object wherever it stands in a text, and mostly in others, with what its readers have found out about it. */
export interface Word {
  readonly text: string;
  /** What it stands for, by who says so. */
  readonly meanings: { readonly of: object }[];
  /** Another word with the same hash. */
  readonly next: Word | undefined;
}

/** Words that are remembered, and how long they may be: a word may be a whole encoded file. */
const maxKnown = 5_000;
const maxKnownLength = 40;
/** By a hash of their characters: a word is found without making a string of it. */
const known = new Map<number, Word>();
/** Of the hash: different in each process, so that nobody can write words that have the same. */
const multiplier = (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) | 1;

export function wordOf(text: string): Word {
  let hash = 0;
  for (let at = 0; at < text.length; at++) hash = (Math.imul(hash, multiplier) + text.charCodeAt(at)) | 0;
  return wordIn(text, 0, text.length, hash);
}

function wordIn(text: string, from: number, to: number, hash: number): Word {
  const length = to - from;
  const first = known.get(hash);
  for (let word = first; word !== undefined; word = word.next)
    if (word.text.length === length && text.startsWith(word.text, from)) return word;
  // A copy: a part of a text would keep all of it in memory.
  const word = { text: Buffer.from(text.slice(from, to)).toString(), meanings: [], next: first };
  if (length <= maxKnownLength) known.set(hash, word);
  return word;
}

/**
 * The words of a text in their order, without names of programs (`auth/login.py`, `user_id`) and numbers; the letters of scripts
 * without blanks; how many commas. One walk over the text.
 */
export function readWords(text: string): { words: Word[]; commas: number; letters: string[] } {
  if (known.size > maxKnown) known.clear();
  const words: Word[] = [];
  const letters: string[] = [];
  let commas = 0;
  let start = -1;
  let hash = 0;
  let isName = false;
  let hasLetter = false;
  for (let at = 0; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : 0x20;
    const kind = kindOf(code);
    if (kind === letter || kind === digit || kind === underscore) {
      hash = start < 0 ? code : (Math.imul(hash, multiplier) + code) | 0;
      if (start < 0) {
        start = at;
        isName = false;
        hasLetter = false;
      }
      if (kind === letter) hasLetter = true;
      else if (kind === underscore) isName = true;
      continue;
    }
    if (start >= 0) {
      const next = kind === joint && at + 1 < text.length ? kindOf(text.charCodeAt(at + 1)) : blank;
      if (next === letter || next === digit || next === underscore) {
        isName = true;
        continue;
      }
      if (!isName && hasLetter) words.push(wordIn(text, start, at, hash));
      start = -1;
    }
    if (kind === unspacedLetter) letters.push(text.charAt(at));
    else if (code === 0x2c || code === 0x3001 || code === 0xff0c) commas++;
  }
  return { words, commas, letters };
}
