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

/**
 * The words of a text in their order, without names of programs (`auth/login.py`, `user_id`) and numbers; the letters of scripts
 * without blanks; how many commas. One walk over the text.
 */
export function readWords(text: string): { words: string[]; commas: number; letters: string[] } {
  const words: string[] = [];
  const letters: string[] = [];
  let commas = 0;
  let start = -1;
  let isName = false;
  let hasLetter = false;
  for (let at = 0; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : 0x20;
    const kind = kindOf(code);
    if (kind === letter || kind === digit || kind === underscore) {
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
      if (!isName && hasLetter) words.push(text.slice(start, at));
      start = -1;
    }
    if (kind === unspacedLetter) letters.push(text.charAt(at));
    else if (code === comma || code === 0x3001 || code === 0xff0c) commas++;
  }
  return { words, commas, letters };
}

const comma = 0x2c;
