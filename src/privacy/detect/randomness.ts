import { wordList } from "#privacy/rules/tables.ts";
import { DIGIT_0, DIGIT_9, LOWER_A, LOWER_Z, UPPER_A, UPPER_Z } from "#privacy/text/characters.ts";

/**
 * How usual a pair of letters is in English and in identifiers: 5 + log2 of how much more often the second letter
 * follows the first than by chance, within 0 to 9. Rows are first letters, columns second. Counted over the words of a
 * few thousand source and documentation files.
 */
const bigramDigits =
  "05650350503756050767432241733272026407207206636000417041700750551081053750003063258330712422620562520030" +
  "52674440210557243776243520612276008005117106446000505131825570054653066460002171218012700243720645500030" +
  "44655450002558740466040204602082015132017301806040105234833271242544027343302072258210702720620155531060" +
  "75218010710352670051500020616664715143245302774400303455234041456855075564522070237014501620750756500020" +
  "22201000100600210210904100724483406043447305664410405053760530333256116860204061428216700321630665502150" +
  "55546340500667150767100000801090207001005000211000007011712670240670066200410060617304700220380018200340" +
  "5443623160156668037610432370139000602330600441500055";

const bigramWeights = new Int8Array(676);
for (let i = 0; i < 676; i++) bigramWeights[i] = bigramDigits.charCodeAt(i) - 0x35;

/** The shape of a text in numbers, from one pass over it. */
export interface TextShape {
  readonly length: number;
  readonly digits: number;
  readonly upper: number;
  readonly lower: number;
  /** Everything that is neither letter nor digit. */
  readonly others: number;
  /** Pairs of neighbouring letters, a capital after a small letter not counted. */
  readonly bigrams: number;
  /** Mean weight of those pairs: words lie around 1, drawn letters around -2. 0 without pairs. */
  readonly bigramScore: number;
  /** Changes between small letters, capitals and digits. */
  readonly classChanges: number;
}

export function shapeOf(text: string): TextShape {
  let digits = 0;
  let upper = 0;
  let lower = 0;
  let pairCount = 0;
  let sum = 0;
  let classChanges = 0;
  let last = -1;
  let lastKind = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    let kind = 0;
    let letter = -1;
    if (c >= DIGIT_0 && c <= DIGIT_9) {
      digits++;
      kind = 1;
    } else if (c >= LOWER_A && c <= LOWER_Z) {
      lower++;
      kind = 2;
      letter = c - 0x61;
    } else if (c >= UPPER_A && c <= UPPER_Z) {
      upper++;
      kind = 3;
      letter = c - 0x41;
    }
    if (kind !== lastKind && kind !== 0 && lastKind !== 0) classChanges++;
    if (letter >= 0 && last >= 0 && !(kind === 3 && lastKind === 2)) {
      pairCount++;
      sum += bigramWeights[last * 26 + letter] ?? 0;
    }
    last = letter;
    lastKind = kind;
  }
  const others = text.length - digits - upper - lower;
  return {
    length: text.length,
    digits,
    upper,
    lower,
    others,
    bigrams: pairCount,
    bigramScore: pairCount === 0 ? 0 : sum / pairCount,
    classChanges,
  };
}

/**
 * Whether a text of at least 8 characters looks drawn rather than written: no identifier, path, version or sentence.
 * Meant for the body of a token and the value of a key, not for passwords that people choose.
 */
export function looksRandom(text: string): boolean {
  return isRandom(shapeOf(text));
}

export function isRandom(shape: TextShape): boolean {
  const { length, digits, upper, lower, bigrams: count, bigramScore, classChanges } = shape;
  if (length < 8) return false;
  const letterCount = upper + lower;
  if (letterCount === 0) return false;
  // Words leave long runs of usual pairs; hex and drawn text are cut up by digits.
  if (digits === 0) {
    if (count < 5) return classChanges >= 5;
    return bigramScore < (upper > 0 && lower > 0 && classChanges >= length / 4 ? -0.3 : -0.7);
  }
  if (digits * 5 >= length)
    return classChanges >= 3 || length >= 32 || letterCount * 8 < length || (count >= 4 && bigramScore < -0.5);
  if (count >= 4 && bigramScore > -0.2 && classChanges * 4 < length) return false;
  return classChanges >= 3 || bigramScore < -0.5;
}

/** Whether a text is made of words alone: a name that happens to begin like a token. */
export function isWordsOnly({ digits, bigrams: count, bigramScore }: TextShape): boolean {
  return digits === 0 && count >= 6 && bigramScore > 0;
}

const dummyMarks = String.raw`x{5,}|\*{3,}|\.{3}|[\x01\x03]|\u2022{2,}|0{9,}|placeholder|change[-_]?me|replace[-_]?(?:me|with|this)|insert[-_]|redacted|(?<![a-z0-9])your[-_ ]|<[a-z]`;
const dummyToken = new RegExp(dummyMarks, "i");
const dummyValue = new RegExp(
  `${dummyMarks}|(?<![a-z0-9])(?:todo|example|your|my[-_](?:api|secret|token|key|password)|xxx+)(?![a-z0-9])`,
  "i",
);

/** Whether the rest of a token says that it only stands for one: `xxxxx`, `your-key`. */
export const isDummyToken = (body: string) => dummyToken.test(body);
/** Whether a text says that it only stands for a secret: `xxxx`, `your_key_here`, `changeme`. */
export const isDummyValue = (text: string) => dummyValue.test(text);

/** Words and abbreviations of programs whose letters say little: they would pass for drawn ones. */
const abbreviations = wordList("abbreviations");

/** `isIdentifier`, where the shape is known: most drawn texts change between kinds of characters too often. */
export function isIdentifierShaped(text: string, shape: TextShape): boolean {
  return shape.classChanges * 2 <= shape.length && isIdentifier(text);
}

/** Longer names are generated. */
const maxIdentifierLength = 256;

/** The parts of a name: capitals before another word (`HTTP` in `HTTPServer`), a word, digits, and anything else. */
const nameParts = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9]/g;
/** What joins the words of a name, a module's path, a member. */
const joinsWords = /[_.$:#-]/;
const maxAbbreviationLength = 6;

/**
 * Whether a text is a name in a program: `ReadUint16LengthPrefixed`, `OAUTH2_CLIENT_SECRET`, `x509KeyUsage`. Told from
 * drawn characters by its words: at least two, set apart by capitals, digits or separators, most of them long and of
 * usual pairs of letters. Of drawn base62, 1 text of 3,000 passes at 16 characters, 1 of 30,000 at 24; of a single case
 * none does.
 */
export function isIdentifier(text: string): boolean {
  if (text.length > maxIdentifierLength) return false;
  let [words, numbers, letters, digits, known, sum, pairs] = [0, 0, 0, 0, 0, 0, 0];
  let parted = false;
  for (const { 0: part, index } of text.matchAll(nameParts)) {
    const first = part.charCodeAt(0);
    if (first >= DIGIT_0 && first <= DIGIT_9) {
      numbers++;
      digits += part.length;
      continue;
    }
    if ((first | 0x20) < LOWER_A || (first | 0x20) > LOWER_Z) {
      if (!joinsWords.test(part)) return false;
      parted ||= index > 0;
      continue;
    }
    parted ||= index > 0 && first <= UPPER_Z && part.length > 1 && part.charCodeAt(1) >= LOWER_A;
    words++;
    letters += part.length;
    if (part.length >= 2 && part.length <= maxAbbreviationLength && abbreviations.has(part.toLowerCase())) {
      known += part.length;
      continue;
    }
    const { bigrams, bigramScore } = shapeOf(part.toLowerCase());
    sum += bigrams * bigramScore;
    pairs += bigrams;
    if (bigrams >= 3 && bigramScore > 0) known += part.length;
  }
  return (
    parted &&
    words >= 2 &&
    letters >= 6 &&
    letters >= words * 2.6 &&
    sum >= pairs * -0.4 &&
    known * 5 >= letters * 3 &&
    numbers <= words &&
    digits <= letters
  );
}
