import { matchAt } from "#platform/text-search/match-at.ts";
import { isSecret } from "#privacy/detect/values.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";

/** Also of a header that is an object: `{"name": "Cookie", "value": "…"}`. */
const cookieHead = /["'`]?\]?[ \t]{0,4}(?:,\s{0,40}["'`]?value["'`]?[ \t]{0,4})?[:=,][ \t]{0,4}["'`]?/y;
const cookiePair = /[ \t]{0,2}([\w.%-]{1,64})=([^;\s"'`,]{1,4096})["'`]?;?/y;
/** Attributes of `Set-Cookie`, and cookies that hold nothing secret. */
const nonSecretCookies = /^(?:path|domain|expires|max-age|samesite|_ga\w*|_gid|_fbp|theme|lang|locale|consent\w*)$/i;

/** The values of a `Cookie` or `Set-Cookie` header. Returns the end of what was read. */
export function scanCookie(normalized: NormalizedText, from: number, found: Span[]): number {
  const { text } = normalized;
  if (matchAt(cookieHead, text, from) === undefined) return from;
  let at = cookieHead.lastIndex;
  for (let i = 0; i < 40; i++) {
    const pair = matchAt(cookiePair, text, at);
    if (pair === undefined) return at;
    const [whole, name = "", value = ""] = pair;
    if (value.length >= 16 && !nonSecretCookies.test(name) && isSecret(value, "quoted")) {
      const start = at + whole.indexOf(value, whole.indexOf("=") + 1);
      found.push({ start, end: start + value.length, rule: "session_cookie" });
    }
    at += whole.length;
  }
  return at;
}
