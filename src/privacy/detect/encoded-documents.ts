import { base64End, decodeHead, isBase64Byte } from "#privacy/text/base64.ts";
import {
  BACKTICK,
  CR,
  DIGIT_3,
  DOUBLE_QUOTE,
  EQUALS,
  GREATER_THAN,
  LESS_THAN,
  LF,
  LOWER_B,
  SINGLE_QUOTE,
  SPACE,
  TAB,
  UPPER_C,
  UPPER_D,
  UPPER_F,
  UPPER_H,
  UPPER_I,
  UPPER_M,
  UPPER_P,
} from "#privacy/text/bytes.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { isDummyValue } from "./randomness.ts";

/** How much of a stretch of base64 is decoded to see whether it is a message of an identity provider. */
export const messageHeadLength = 1_600;
/** Lines of wrapped base64 that are read as one. */
const maxLines = 4_096;

const samlParameter =
  /saml(?:response|request)["'`]{0,2}\]?(?:[ \t]{0,4}[=:]|[ \t]{0,4},|[ \t]{1,4}value=)\s{0,8}["'`]{0,2}([A-Za-z0-9+/=%]{64,60000})/iy;

/** The response of an identity provider, found by its parameter name: it logs its holder in. Returns where scanning continues. */
export function scanSaml(normalized: NormalizedText, keywordAt: number, found: Span[]): number {
  samlParameter.lastIndex = keywordAt;
  const match = samlParameter.exec(normalized.text);
  const value = match?.[1];
  if (match === null || value === undefined) return keywordAt + 1;
  const start = keywordAt + match[0].length - value.length;
  const end = wrappedEnd(normalized, start, base64End(normalized, keywordAt + match[0].length));
  if (!isDummyValue(value.slice(0, 200)) && /\d/.test(value)) found.push({ start, end, rule: "saml_response" });
  return end;
}

/** The same by what it says, whatever stands before it. */
const samlMessage = /^\s{0,8}<(?:saml2?p?:|[^\0]{0,900}?urn:oasis:names:tc:SAML)/;

/** What a private key of OpenSSH begins with, without its armour: `openssh-key-v1`. */
const openSshMagic = "b3BlbnNzaC1rZXktdjE";
/** Characters of base64 in the shortest private key, or in its first line. */
export const minDocumentLength = 48;
/** How much of a key is decoded to see whether it is one. */
const keyHeadLength = 32;

/** Whether base64 at a place can stand for something this file knows: one look, which is nearly always enough. */
export function mayBeSecretDocument(bytes: Uint8Array, at: number): boolean {
  const second = bytes[at + 1] ?? 0;
  switch (bytes[at]) {
    case UPPER_P: // P: `<` and a name
      return second >= UPPER_D && second <= UPPER_H;
    case UPPER_M: // M: a sequence of DER
      return second === UPPER_C || second === UPPER_F || second === UPPER_H || second === UPPER_I;
    case LOWER_B:
      return second === DIGIT_3;
    default:
      return false;
  }
}

/** The document whose first line of base64 is `[start, end)`, if it is one that is secret: its rule and where it ends. */
export function secretDocumentAt(normalized: NormalizedText, start: number, end: number): Span | undefined {
  const { bytes, text } = normalized;
  if (bytes[start] === UPPER_P)
    return samlMessage.test(decodeHead(normalized, start, messageHeadLength))
      ? { start, end: wrappedEnd(normalized, start, end), rule: "saml_response" }
      : undefined;
  if (end - start < minDocumentLength) return undefined;
  const isKey =
    text.startsWith(openSshMagic, start) ||
    isPrivateKey(Buffer.from(text.slice(start, start + keyHeadLength), "base64"));
  return isKey ? { start, end: wrappedEnd(normalized, start, end), rule: "private_key" } : undefined;
}

const DER_INTEGER = 0x02;
const DER_OCTET_STRING = 0x04;
const DER_SEQUENCE = 0x30;

/** A sequence that begins with its version and goes on as PKCS #8 (0), PKCS #1 (0), SEC 1 (1) or PKCS #12 (3) do. */
function isPrivateKey(head: Uint8Array): boolean {
  if (head[0] !== DER_SEQUENCE) return false;
  const length = head[1] ?? 0;
  const at = length < 0x80 ? 2 : 2 + (length & 0x7f);
  if (at > 5 || head[at] !== DER_INTEGER || head[at + 1] !== 1) return false;
  const version = head[at + 2];
  const next = head[at + 3];
  if (version === 0) return next === DER_SEQUENCE || (next === DER_INTEGER && ((head[at + 4] ?? 0) & 0x80) !== 0);
  return (version === 1 && next === DER_OCTET_STRING) || (version === 3 && next === DER_SEQUENCE);
}

/** Base64 goes on in lines of the same length, and ends in a shorter one. */
function wrappedEnd(normalized: NormalizedText, start: number, firstEnd: number): number {
  const { bytes } = normalized;
  const width = firstEnd - start;
  let end = firstEnd;
  if (width < 40) return end;
  for (let line = 0; line < maxLines; line++) {
    const next = nextLine(bytes, end);
    if (next < 0) return end;
    const to = base64End(normalized, next);
    const after = bytes[to] ?? 0;
    const alone =
      (after <= SPACE && after !== SPACE && after !== TAB) ||
      after === DOUBLE_QUOTE ||
      after === SINGLE_QUOTE ||
      after === BACKTICK ||
      after === LESS_THAN;
    if (to - next === width && alone) {
      end = to;
      continue;
    }
    // A word of the next paragraph is none.
    const close = bytes[to - 1] === EQUALS || bytes[end + 1] !== LF;
    const isLast = to > next && to - next < width && (to - next) % 4 === 0 && alone && close;
    return isLast ? to : end;
  }
  return end;
}

/** Where the next line begins behind the end of one, past indentation and the marks of a quoted mail; -1 where no line ends. */
function nextLine(bytes: Uint8Array, from: number): number {
  let at = from;
  let ends = false;
  while (at < from + 48) {
    const c = bytes[at] ?? 0;
    if (c === LF) ends = true;
    else if (c !== CR && c !== SPACE && c !== TAB && c !== GREATER_THAN) break;
    at++;
  }
  return ends && isBase64Byte(bytes[at] ?? 0) ? at : -1;
}
