import { wrappedEnd } from "#privacy/text/base64.ts";
import { classes, inToken, matchAt } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { isDummyToken } from "./randomness.ts";

/** Longest private key that is read as one; a longer block is cut there. */
const maxKeyLength = 24_576;

const pemBegin = /-----BEGIN ((?:[A-Z0-9][A-Z0-9 ]{0,40} )?PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)-----/y;
/** The way of SSH Communications Security (RFC 4716), with blanks. */
const ssh2Begin = /BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----/y;
const pemMarker = /----[- ](END|BEGIN)/g;
const keyCharacters = /[A-Za-z0-9+/=\s"',:;\\().*_|>+-]{0,400}/y;

/** Reads a private key from its `-----BEGIN`; a key that is cut off is taken as far as it goes. */
export function scanPem(normalized: NormalizedText, keywordAt: number, found: Span[]): number {
  const { text } = normalized;
  const head = matchAt(pemBegin, text, keywordAt) ?? matchAt(ssh2Begin, text, keywordAt);
  if (head === undefined) return keywordAt + 10;
  const label = head[1] ?? "";
  const start = keywordAt + head[0].length;
  pemMarker.lastIndex = start;
  const mark = pemMarker.exec(text);
  const closed = mark !== null && mark.index - start <= maxKeyLength;
  let end = closed ? mark.index : -1;
  if (!closed || mark[1] === "BEGIN") {
    const limit = end < 0 ? start + maxKeyLength : end;
    end = start;
    while (end < limit) {
      keyCharacters.lastIndex = end;
      if (!keyCharacters.test(text) || keyCharacters.lastIndex === end) break;
      end = keyCharacters.lastIndex;
    }
    // Prose after the key is no part of it: give back what follows its last long line.
    end = lastLongLineEnd(normalized, start, Math.min(end, limit));
  }
  const rule = label.startsWith("PGP") ? "pgp_private_key" : "private_key";
  if (mark?.[1] === "END" && closed && isKeyText(text.slice(start, end))) {
    found.push({ start, end, rule });
    return end;
  }
  return addKeyBody(normalized, start, end, rule, found);
}

/** A line of a key, in a file or in the literals of a program; a header of one. */
const keyLine =
  /^[ \t"'`>|*#]*$|^[ \t"'`>|*#]*(?:\/\/ ?)?(?:[A-Za-z0-9+/=]{1,4096}|[A-Z][A-Za-z-]{2,20}: [^\n]{0,200})["'`\\,.;) \t]*(?:\+[ \t]*)?$/;

/** Whether a text between a key's marks is one: lines of base64, however short; not one character over and over. */
function isKeyText(text: string): boolean {
  const body = text.length < 400 ? text.replace(/[^A-Za-z0-9]/g, "") : "";
  if (isDummyToken(text.slice(0, 400)) || (text.length < 400 && (body.length < 6 || /^(.)\1*$|^your/i.test(body))))
    return false;
  return text.split("\n").every((line) => keyLine.test(line));
}

/** Puts the text of a key between two markers on the list, without the white space around it. */
function addKeyBody(normalized: NormalizedText, from: number, to: number, rule: string, found: Span[]): number {
  const { bytes, text } = normalized;
  let start = from;
  let end = to;
  while (start < end && keyBytes[bytes[start] ?? 0] === 0) start++;
  while (end > start && keyBytes[bytes[end - 1] ?? 0] === 0) end--;
  if (end - start < 24) return to;
  const body = text.slice(start, Math.min(end, start + 400));
  if (/REDACTED|\.{3,}|x{8}|X{8}|\*{4}|<[a-z]/.test(body) && end - start < 300) return to;
  // A program that puts the key there.
  if (end - start < 400 && /[A-Za-z_]\(/.test(body) && !/[A-Za-z0-9+/]{24}/.test(body)) return to;
  found.push({ start, end, rule });
  return end;
}

function lastLongLineEnd({ text }: NormalizedText, from: number, to: number): number {
  const last = [...text.slice(from, to).matchAll(/[A-Za-z0-9+/=]{24,}/g)].at(-1);
  return last === undefined ? from : from + last.index + last[0].length;
}

const keyBytes = classes.map((bits, c) => ((bits & inToken) !== 0 || "+/=".includes(String.fromCharCode(c)) ? 1 : 0));

/** Longest PuTTY key with its public part; a longer one is cut there. */
const maxPuttyLength = 8_192;
const putty = /PuTTY-User-Key-File-\d: [^\n]{1,80}\n/y;

/** A PuTTY key: everything from `Private-Lines` on, and its MAC. */
export function scanPutty(normalized: NormalizedText, keywordAt: number, found: Span[]): void {
  const { text } = normalized;
  if (matchAt(putty, text, keywordAt) === undefined) return;
  const key = text.slice(keywordAt, keywordAt + maxPuttyLength);
  const lines = key.indexOf("Private-Lines:");
  if (lines < 0) return;
  const mac = key.indexOf("Private-MAC:", lines);
  const end = keywordAt + (mac >= 0 ? mac : key.length);
  const start = text.indexOf("\n", keywordAt + lines) + 1;
  if (start > 0 && start < end) addKeyBody(normalized, start, end, "putty_private_key", found);
}

/** What a private key of OpenSSH begins with, without its armour: `openssh-key-v1`. */
const openSshMagic = "b3BlbnNzaC1rZXktdjE";
/** Characters of base64 in the shortest private key, or in its first line. */
const minDocumentLength = 48;
/** How much of a key is decoded to see whether it is one. */
const keyHeadLength = 32;

/** Whether base64 at a place can stand for something this file knows: one look, which is nearly always enough. */
export function mayBeSecretDocument(bytes: Uint8Array, at: number): boolean {
  const second = bytes[at + 1] ?? 0;
  switch (String.fromCharCode(bytes[at] ?? 0)) {
    case "M": // a sequence of DER
      return "CFHI".includes(String.fromCharCode(second));
    case "b": // openssh-key-v1
      return second === 0x33;
    default:
      return false;
  }
}

/** The private key whose first line of base64 is `[start, end)`, if it is one. */
export function secretDocumentAt(normalized: NormalizedText, start: number, end: number): Span | undefined {
  const { text } = normalized;
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
