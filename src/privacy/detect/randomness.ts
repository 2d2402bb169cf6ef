import {
  COLON,
  DIGIT_0,
  DIGIT_9,
  DOLLAR,
  DOT,
  HASH,
  HYPHEN,
  LOWER_A,
  LOWER_Z,
  UNDERSCORE,
  UPPER_A,
  UPPER_Z,
} from "#privacy/text/characters.ts";

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
function bigramWeight(first: number, second: number): number {
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

const dummyMarks = String.raw`x{5,}|\*{3,}|\.{3}|[\x01\x03]|\u2022{2,}|0{9,}|placeholder|change[-_]?me|replace[-_]?(?:me|with|this)|insert[-_]|redacted|(?<![a-z0-9])your[-_ ]|<[a-z]`;
const dummyToken = new RegExp(dummyMarks, "i");
const dummyValue = new RegExp(
  `${dummyMarks}|(?<![a-z0-9])(?:todo|fake|dummy|sample|example|your|my[-_](?:api|secret|token|key|password)|xxx+|foo|bar|baz)(?![a-z0-9])`,
  "i",
);

/** Whether the rest of a token says that it only stands for one: `xxxxx`, `your-key`. */
export function isDummyToken(body: string): boolean {
  return dummyToken.test(body);
}

/** Whether a text says that it only stands for a secret: `xxxx`, `your_key_here`, `changeme`. */
export function isDummyValue(text: string): boolean {
  return dummyValue.test(text);
}

/** Words and abbreviations of programs whose letters say little: they would pass for drawn ones. */
const abbreviations = new Set(
  "get set new key api url uri sha rsa aes dsa ecdsa eddsa ed ecdh ecdhe dh tls ssl pkcs http https jwt jwk hmac gcm cbc sql xml json csv dns tcp udp ipv os id db ui io utf oauth psk pem der uint int str num len ctx cfg env auth csr crl mlkem kem hpke chacha poly sign hash test buf max min err obj val ptr cls fmt tmp src dst msg req res cert pub priv pass pwd ssh cmd arg opt ref rev idx row col sum add del has is not and for with from of to on in by as aws gcp sdk crc hex bin oct img css dom ssr rpc grpc elf bit byte asn oid rfc inet md sec app crypt evp pkey alg ctrl nss bio".split(
    " ",
  ),
);

/** `isIdentifier`, where the shape of the text is known: most drawn texts change between kinds of characters too often. */
export function isIdentifierShaped(text: string, shape: TextShape): boolean {
  return shape.classChanges * 2 <= shape.length && isIdentifier(text);
}

/** Longer names are generated. */
const maxIdentifierLength = 256;

/**
 * Whether a text is the name of something in a program: `ReadUint16LengthPrefixed`, `OAUTH2_CLIENT_SECRET`, `x509KeyUsage`. Told from
 * drawn characters by its words: at least two, set apart by capitals, digits or separators, most of them long and of usual pairs of
 * letters. Of drawn base62, 1 text of 3,000 passes at 16 characters, 1 of 30,000 at 24; of a single case none does.
 */
export function isIdentifier(text: string): boolean {
  if (text.length > maxIdentifierLength) return false;
  let words = 0;
  let numbers = 0;
  let letters = 0;
  let digits = 0;
  let known = 0;
  let sum = 0;
  let pairs = 0;
  let parted = false;
  for (let at = 0; at < text.length; ) {
    const first = kindOf(text.charCodeAt(at));
    if (first === other) {
      if (!isSeparator(text.charCodeAt(at))) return false;
      if (at > 0) parted = true;
      at++;
      continue;
    }
    let end = at + 1;
    while (end < text.length && kindOf(text.charCodeAt(end)) === first) end++;
    if (first === digit) {
      numbers++;
      digits += end - at;
      at = end;
      continue;
    }
    if (first === upper && end < text.length && kindOf(text.charCodeAt(end)) === lower) {
      // `HTTPServer`: the last capital begins the next word.
      if (end - at > 1) end--;
      else while (end < text.length && kindOf(text.charCodeAt(end)) === lower) end++;
      parted ||= at > 0;
    }
    words++;
    letters += end - at;
    const weight = weightOf(text, at, end);
    const count = end - at - 1;
    if (end - at >= 2 && end - at <= maxAbbreviationLength && abbreviations.has(text.slice(at, end).toLowerCase()))
      known += end - at;
    else {
      sum += weight;
      pairs += count;
      if (count >= 3 && weight > 0) known += end - at;
    }
    at = end;
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

const maxAbbreviationLength = 6;
const other = 0;
const digit = 1;
const lower = 2;
const upper = 3;

function kindOf(c: number): number {
  if (c >= LOWER_A && c <= LOWER_Z) return lower;
  if (c >= UPPER_A && c <= UPPER_Z) return upper;
  return c >= DIGIT_0 && c <= DIGIT_9 ? digit : other;
}

/** `_` `-` `.` `$` `:` `#`: what joins the words of a name, a module's path, a member. */
function isSeparator(c: number): boolean {
  return c === UNDERSCORE || c === HYPHEN || c === DOT || c === DOLLAR || c === COLON || c === HASH;
}

/** How usual the pairs of letters of a word are, summed up. */
function weightOf(text: string, from: number, to: number): number {
  let sum = 0;
  for (let i = from + 1; i < to; i++) sum += bigramWeight(text.charCodeAt(i - 1), text.charCodeAt(i));
  return sum;
}
