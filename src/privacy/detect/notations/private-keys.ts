import { matchAt } from "#platform/text-search/match-at.ts";
import { EQUALS, PLUS, SLASH } from "#privacy/text/bytes.ts";
import { classes, inToken } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";

/** Longest private key that is read as one; a longer block is cut there. */
const maxKeyLength = 24_576;

const pemBegin = /-----BEGIN ((?:[A-Z0-9][A-Z0-9 ]{0,40} )?PRIVATE KEY(?: BLOCK)?)-----/y;
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
  return addKeyBody(normalized, start, end, label.startsWith("PGP") ? "pgp_private_key" : "private_key", found);
}

/** Puts the text of a key between two markers on the list, without the white space around it. */
function addKeyBody(normalized: NormalizedText, from: number, to: number, rule: string, found: Span[]): number {
  const { bytes, text } = normalized;
  let start = from;
  let end = to;
  while (start < end && !isKeyCharacter(bytes[start] ?? 0)) start++;
  while (end > start && !isKeyCharacter(bytes[end - 1] ?? 0)) end--;
  if (end - start < 24) return to;
  const body = text.slice(start, Math.min(end, start + 400));
  if (/REDACTED|\.{3,}|x{8}|X{8}|\*{4}|<[a-z]/.test(body) && end - start < 300) return to;
  // A program that puts the key there.
  if (end - start < 400 && /[A-Za-z_]\(/.test(body) && !/[A-Za-z0-9+/]{24}/.test(body)) return to;
  found.push({ start, end, rule });
  return end;
}

function lastLongLineEnd(normalized: NormalizedText, from: number, to: number): number {
  const run = /[A-Za-z0-9+/=]{24,}/g;
  const text = normalized.text.slice(from, to);
  let end = 0;
  for (const match of text.matchAll(run)) end = match.index + match[0].length;
  return from + end;
}

function isKeyCharacter(c: number): boolean {
  return ((classes[c] ?? 0) & inToken) !== 0 || c === PLUS || c === SLASH || c === EQUALS;
}

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
