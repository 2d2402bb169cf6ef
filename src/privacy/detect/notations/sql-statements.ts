import { matchAt } from "#platform/text-search/match-at.ts";
import { isPassword } from "#privacy/detect/values.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";

const identified =
  /IDENTIFIED\s{1,4}(?:WITH\s{1,4}\S{1,40}\s{1,4})?(?:BY|AS)\s{1,4}(?:PASSWORD\s{1,4})?(["'`]?)([^"'`\s;]{3,256})\1/iy;

const statement = /\b(?:create|alter|grant|user|role|database[ \t]{1,3}link)\b[^;]{0,150}$/i;

/** `IDENTIFIED BY '…'` in SQL. */
export function scanSql(normalized: NormalizedText, keywordAt: number, found: Span[]): void {
  const match = matchAt(identified, normalized.text, keywordAt);
  const value = match?.[2];
  if (value === undefined || match === undefined || !isPassword(value, "quoted")) return;
  // `is also identified as windows-1255`: without quotes only in a statement.
  if (match[1] === "" && !statement.test(normalized.text.slice(Math.max(0, keywordAt - 160), keywordAt))) return;
  const start = keywordAt + match[0].lastIndexOf(value);
  found.push({ start, end: start + value.length, rule: "password" });
}
