import { matchAt } from "#platform/text-search/match-at.ts";
import {
  BACKTICK,
  DOUBLE_QUOTE,
  EQUALS,
  LOWER_P,
  LOWER_X,
  OPEN_PAREN,
  SINGLE_QUOTE,
  SPACE,
} from "#privacy/text/bytes.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { isUrlPassword } from "./url-credentials.ts";

/** `user:password@tcp(host:3306)/database`, as Go's MySQL driver writes it. */
export function scanDsn(normalized: NormalizedText, keywordAt: number, found: Span[]): void {
  const { bytes, text } = normalized;
  const limit = Math.max(0, keywordAt - 200);
  let from = keywordAt;
  while (from > limit && !endsDsn(bytes[from - 1] ?? 0) && !isHostBracket(bytes, from - 1)) from--;
  const colon = text.indexOf(":", from);
  if (colon < 0 || colon >= keywordAt || !isUrlPassword(text.slice(colon + 1, keywordAt))) return;
  found.push({ start: colon + 1, end: keywordAt, rule: "url_password" });
}

/** The bracket of another `tcp(` or `unix(`. */
function isHostBracket(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === OPEN_PAREN && (bytes[at - 1] === LOWER_P || bytes[at - 1] === LOWER_X);
}

function endsDsn(c: number): boolean {
  return c <= SPACE || c === DOUBLE_QUOTE || c === SINGLE_QUOTE || c === BACKTICK || c === EQUALS;
}

const pgpass = /:5432:[^:\s]{1,63}:[^:\s]{1,63}:([^\s:]{3,128})(?=\s|$)/y;

/** A line of PostgreSQL's password file: `host:port:database:user:password`. */
export function scanPgpass(normalized: NormalizedText, keywordAt: number, found: Span[]): void {
  const match = matchAt(pgpass, normalized.text, keywordAt);
  const password = match?.[1];
  if (match === undefined || password === undefined || !isUrlPassword(password)) return;
  const end = keywordAt + match[0].length;
  found.push({ start: end - password.length, end, rule: "password" });
}
