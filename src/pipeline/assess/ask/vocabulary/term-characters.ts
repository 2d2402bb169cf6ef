/** What a character is to the vocabulary's terms. */
export const betweenWords = 0;
export const inWord = 1;
/** A character of a script without blanks between words: it counts as a word. */
export const wordByItself = 2;

/** First and last letters and digits of scripts that write blanks between words, in lower case. */
const words: readonly (readonly [first: number, last: number])[] = [
  [0x30, 0x39],
  [0x61, 0x7a],
  [0xdf, 0x24f],
  [0x370, 0x1fff], // Greek, Cyrillic, Hebrew, Arabic, Indic scripts …
  [0xac00, 0xd7af], // Hangul
];

/** First and last characters among which their capitals stand. */
const capitals: readonly (readonly [first: number, last: number])[] = [
  [0x41, 0x5a],
  [0xc0, 0x24f],
  [0x370, 0x1fff],
  [0x2126, 0x212b], // Ohm, kelvin, ångström
  [0x2c60, 0x2c7f],
  [0xa720, 0xa7ff],
];

/** Chinese, Japanese, Thai, Lao. */
export const denseRanges: readonly (readonly [first: number, last: number])[] = [
  [0xe00, 0xeff],
  [0x3040, 0x30ff],
  [0x3400, 0x9fff],
];

/** Commas, stops and question marks of Greek, Hebrew, Arabic and Indic scripts. */
const punctuation = "\u037e\u0387\u05be\u05c3\u060c\u061b\u061f\u06d4\u0964\u0965";

/** By character, capitals as their small letters: what it is. */
export const classOf = new Uint8Array(0x10000);
for (const [first, last] of words) classOf.fill(inWord, first, last + 1);
for (const [first, last] of denseRanges) classOf.fill(wordByItself, first, last + 1);
for (const sign of punctuation) classOf[sign.charCodeAt(0)] = betweenWords;
eachCapital((capital, small) => {
  classOf[capital] = classOf[small] ?? betweenWords;
});

/** Calls back with every capital of these letters, and with its small letter, so that no text need be copied to be read. */
export function eachCapital(visit: (capital: number, small: number) => void): void {
  for (const [first, last] of capitals) {
    for (let capital = first; capital <= last; capital++) {
      const small = String.fromCharCode(capital).toLowerCase();
      if (small.length === 1 && small.charCodeAt(0) !== capital) visit(capital, small.charCodeAt(0));
    }
  }
}
