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
} from "#privacy/text/bytes.ts";
import { bigramWeight, type TextShape } from "./randomness.ts";

/** Words and abbreviations of programs whose letters say little: they would pass for drawn ones. */
const abbreviations = new Set(
  "get set new key api url uri sha rsa aes dsa ecdsa eddsa ed ecdh ecdhe dh tls ssl pkcs http https jwt jwk hmac gcm cbc sql xml json csv dns tcp udp ipv os id db ui io utf oauth psk pem der uint int str num len ctx cfg env auth csr crl mlkem kem hpke chacha poly sign hash test buf max min err obj val ptr cls fmt tmp src dst msg req res cert pub priv pass pwd ssh cmd arg opt ref rev idx row col sum add del has is not and for with from of to on in by as aws gcp sdk crc hex bin oct img css dom ssr rpc grpc elf bit byte asn oid rfc inet md".split(
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
