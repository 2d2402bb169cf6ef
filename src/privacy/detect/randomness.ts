import { DIGIT_0, DIGIT_9, LOWER_A, LOWER_Z, UPPER_A, UPPER_Z } from "#privacy/text/bytes.ts";

/**
 * How usual a pair of letters is in English and in identifiers: the digit is 5 + log2 of how much more often the second letter
 * follows the first than it would by chance, within 0 to 9. Rows are first letters, columns second. Counted over the words of
 * a few thousand source and documentation files.
 */
const bigramDigits = [
  "05650350503756050767432241",
  "73327202640720720663600041",
  "70417007505510810537500030",
  "63258330712422620562520030",
  "52674440210557243776243520",
  "61227600800511710644600050",
  "51318255700546530664600021",
  "71218012700243720645500030",
  "44655450002558740466040204",
  "60208201513201730180604010",
  "52348332712425440273433020",
  "72258210702720620155531060",
  "75218010710352670051500020",
  "61666471514324530277440030",
  "34552340414568550755645220",
  "70237014501620750756500020",
  "22201000100600210210904100",
  "72448340604344730566441040",
  "50537605303332561168602040",
  "61428216700321630665502150",
  "55546340500667150767100000",
  "80109020700100500021100000",
  "70117126702406700662004100",
  "60617304700220380018200340",
  "54436231601566680376104323",
  "70139000602330600441500055",
].join("");

const bigramWeights = new Int8Array(676);
for (let i = 0; i < 676; i++) bigramWeights[i] = bigramDigits.charCodeAt(i) - 0x35;

/** The weight of two neighbouring letters of whatever case: words lie around 1, drawn letters around -2. */
export function bigramWeight(first: number, second: number): number {
  return bigramWeights[((first | 0x20) - 0x61) * 26 + (second | 0x20) - 0x61] ?? 0;
}

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
 * Whether a text of at least 8 characters looks drawn rather than written: not an identifier, a path, a version, a sentence.
 * Meant for the body of a token and for the value of a key, not for passwords that people choose.
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

const dummyValue =
  /x{5,}|\*{3,}|\.{3}|[\x01\x03]|\u2022{2,}|0{9,}|123456789|abcdefgh|01234567|placeholder|example|change[-_]?me|replace[-_]?(?:me|with|this)|insert[-_]|redacted|(?<![a-z0-9])(?:todo|fake|dummy|sample|your|my[-_](?:api|secret|token|key|password)|xxx+|foo|bar|baz)(?![a-z0-9])|<[a-z]/i;

/** Whether a text is a dummy value rather than a secret: `xxxx`, `your_key_here`, `AKIA…EXAMPLE`. */
export function isDummyValue(text: string): boolean {
  return dummyValue.test(text);
}
