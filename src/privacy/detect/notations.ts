import commandRows from "#privacy/rules/commands.jsonl" with { type: "text" };
import { readTable } from "#privacy/rules/tables.ts";
import webhookRows from "#privacy/rules/webhooks.jsonl" with { type: "text" };
import { byteSet, matchAt, matchEnd } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { isDummyToken, isDummyValue, isRandom, looksRandom, shapeOf } from "./randomness.ts";
import { isPassword, isSecret } from "./values.ts";

/** A way to write a secret that a word gives away: the option of a command, a clause of SQL, a line of a file. */
interface Command {
  /** The keyword, as `keyword-prefilter.ts` lists it. */
  readonly word: string;
  readonly id?: string;
  /** What the value has to be; by default anything that is no variable and no plain word. */
  readonly value?: keyof typeof valueKinds;
  /** An example with `§` for the secret, and one that stays. */
  readonly found: string;
  readonly kept: string;
  /** From the keyword on; the last group is the secret. */
  readonly pattern: string;
  readonly anyCase?: true;
  /** What has to stand before the keyword, where that may mean anything. */
  readonly before?: string;
}

/** Common words that are not in the list wallets draw from. */
const notInPhrases =
  /\b(?:the|and|for|with|that|this|from|are|was|will|not|but|you|your|have|has|its|they|were|been|into|than)\b/;
const valueKinds = {
  password: (value: string) => isPassword(value, "quoted"),
  given: (value: string) => isCommandPassword(value) && isPassword(value, "quoted"),
  url: isUrlPassword,
  seed: (words: string) => !notInPhrases.test(words),
};

export const commands = readTable<Command>(commandRows);
const notations = commands.map(({ word, id = "password", value, pattern, anyCase, before }) => ({
  word,
  rule: id,
  pattern: new RegExp(pattern, anyCase === true ? "iy" : "y"),
  before: before === undefined ? undefined : new RegExp(before, "i"),
  isSecret: value === undefined ? isCommandPassword : valueKinds[value],
}));
const byWord = Map.groupBy(notations, ({ word }) => word);

/** Secrets that the notation around a keyword gives away. */
export function scanNotations({ text }: NormalizedText, at: number, word: string, found: Span[]): void {
  for (const { pattern, rule, before, isSecret } of byWord.get(word) ?? []) {
    const match = matchAt(pattern, text, at);
    const value = match?.at(-1);
    if (match === undefined || value === undefined || !isSecret(value)) continue;
    if (before !== undefined && !before.test(text.slice(Math.max(0, at - 160), at))) continue;
    const start = match[0].includes(value) ? at + match[0].lastIndexOf(value) : text.lastIndexOf(value, at);
    found.push({ start, end: start + value.length, rule });
    return;
  }
}

function isCommandPassword(value: string): boolean {
  if (/^[$<{%[]|^(?:\w{0,8}pass(?:word|wd)?|secret|token|x-oauth-basic|changeme)$/i.test(value) || isDummyValue(value))
    return false;
  const shape = shapeOf(value);
  return shape.digits > 0 || shape.others > 0 || isRandom(shape) || value.length >= 8;
}

const piped =
  /\b(?:echo[ \t]{1,3}(?:-[neE]{1,3}[ \t]{1,3})?|printf[ \t]{1,3}(?:["']?%s(?:\\n)?["']?[ \t]{1,3})?)["']?([^"'|\n]{3,128}?)["']?[ \t]{0,3}\|[^|\n]{0,160}$/;

/** What `chpasswd` reads: `user:password`, a line each. */
const chpasswdInput = /chpasswd[^\n]{0,80}?(?:<<<[ \t]{0,3}|\n)/iy;
const userLine = /[ \t]{0,24}(?:-[ \t]{1,4})?["']?[\w.-]{1,32}:([^\s:"']{3,128})["']?[ \t]{0,8}(?:\n|$)/y;
const listLine = /[ \t]{0,24}(?:list|users|expire):[^\n]{0,20}\n/y;

function scanChpasswd(text: string, keywordAt: number, found: Span[]): void {
  let at = matchEnd(chpasswdInput, text, keywordAt);
  for (let line = 0; line < 40 && at >= 0; line++) {
    const password = matchAt(userLine, text, at);
    if (password === undefined) {
      at = matchEnd(listLine, text, at);
      continue;
    }
    const value = password[1] ?? "";
    const start = at + password[0].indexOf(`:${value}`) + 1;
    if (isPassword(value, "quoted")) found.push({ start, end: start + value.length, rule: "password" });
    at = userLine.lastIndex;
  }
}

/** `echo … | docker login --password-stdin`. */
export function scanPiped({ text }: NormalizedText, keywordAt: number, found: Span[]): void {
  scanChpasswd(text, keywordAt, found);
  const from = Math.max(0, keywordAt - 300);
  const match = piped.exec(text.slice(from, keywordAt));
  const value = match?.[1];
  if (match === null || value === undefined) return;
  // `user:password`, as `chpasswd` reads it.
  const user = /^[\w.-]{1,32}:(?=\S{3})/.exec(value)?.[0].length ?? 0;
  if (!isPassword(value.slice(user), "quoted")) return;
  const start = from + match.index + match[0].indexOf(value) + user;
  found.push({ start, end: start + value.length - user, rule: "password" });
}

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

const userBefore = /([^\s/?#"'<>@\\:|,;(){}[\]]{0,128}):(?=[^\s"'<>\\@])/y;
/** What a password can be made of in an address that nobody encoded, and what a host begins with. */
const unencoded = /[^\s"'<>\\`]{1,256}/y;
const hostBehind = /[\w[.$%{-]/;
const wholeHost = /@(?:[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}|\[[\da-f:]{2,45}\])(?::\d{1,5})?(?:[/?#,;)\]}]|$)/g;
const tokenInfo = /([^\s/?#"'<>@\\:|,;(){}[\]]{16,512})@(?=[\w.-])/y;

/** URLs that are the credential. Part of the host, and all from behind `://`; group 1 is the secret. */
const webhooks = readTable<{ id: string; host: string; url: string }>(webhookRows).map(({ id, host, url }) => ({
  id,
  host,
  pattern: new RegExp(url, "y"),
}));
const webhookHosts = new RegExp([...new Set(webhooks.map(({ host }) => RegExp.escape(host)))].join("|"));

/** Longest user and password together. */
const maxUserInfoLength = 640;

/**
 * Reads what follows a `://` at `keywordAt`: user and password, a token instead of them, or the URL of a webhook.
 * @param nextAtSign where the next `@` behind it stands
 */
export function scanUrl({ text }: NormalizedText, keywordAt: number, nextAtSign: number, found: Span[]): void {
  const at = keywordAt + 3;
  if (nextAtSign - at <= maxUserInfoLength && scanUserInfo(text, at, found)) return;
  const near = text.slice(at, at + 160);
  if (!webhookHosts.test(near)) return;
  for (const { id: rule, host, pattern } of webhooks) {
    if (!near.includes(host)) continue;
    const secret = matchAt(pattern, text, at)?.[1];
    if (secret === undefined || isDummyToken(secret)) continue;
    const start = text.indexOf(secret, at);
    found.push({ start, end: start + secret.length, rule });
    return;
  }
}

/** Whether something stands before the `@` of an authority. */
function scanUserInfo(text: string, at: number, found: Span[]): boolean {
  const user = matchAt(userBefore, text, at)?.[1];
  const start = at + (user?.length ?? 0) + 1;
  const password = user === undefined ? "" : passwordBeforeHost(user, matchAt(unencoded, text, start)?.[0] ?? "");
  if (user !== undefined && password !== "") {
    // https://ghp_…:x-oauth-basic@host: the token is the user.
    if (user.length >= 16 && looksRandom(user) && !isDummyValue(user))
      found.push({ start: at, end: at + user.length, rule: "url_password" });
    if (isUrlPassword(password)) found.push({ start, end: start + password.length, rule: "url_password" });
    return true;
  }
  const token = matchAt(tokenInfo, text, at)?.[1];
  if (token === undefined || !looksRandom(token) || isDummyValue(token)) return false;
  found.push({ start: at, end: at + token.length, rule: "url_password" });
  return true;
}

/**
 * The password in front of what follows `user:`, or "": up to the last `@` before the path, or, where somebody left
 * `/`, `?` or `#` in it as they are, up to the first that a whole host follows; none that begins like a port, or behind
 * a host.
 */
function passwordBeforeHost(user: string, rest: string): string {
  const authority = rest.slice(0, rest.search(/[/?#]|$/));
  const last = authority.lastIndexOf("@");
  if (last > 0 && hostBehind.test(authority.charAt(last + 1))) return rest.slice(0, last);
  if (/^\d{0,5}(?:[/?#]|$)/.test(rest) || user.includes(".")) return "";
  const host = [...rest.matchAll(wholeHost)].find(({ index }) => isPassword(rest.slice(0, index), "quoted"));
  return host === undefined ? "" : rest.slice(0, host.index);
}

const nonSecretPasswords =
  /^(?:[a-z]{1,4}|pass(?:word|wd)?|pwd|secret|user(?:name)?|token|x-oauth-basic|x-access-token|key|port|host|[*x.]+|\d{1,5}|changeme|example|none|null|api_?key|db_?pass(?:word)?|my_?password|your_?password)$/i;

/** The password of a URL: anything but a dummy value or a reference counts. */
function isUrlPassword(password: string): boolean {
  if (password.length < 3 || password.split(":").every((part) => nonSecretPasswords.test(part))) return false;
  if (/^[{<[(]|^\*+$|^%\w+%?$|^\$[A-Za-z_]\w*$|\$\{|\{\{|^%s$|REDACTED|\*{3}|x{5}|\.{3}/.test(password)) return false;
  if (/^[A-Z][A-Z_]+$/.test(password) && password.includes("_")) return false;
  return !isDummyValue(password);
}

/** What a data source's name cannot hold: white space, quotes, `=`. */
const endsDsn = byteSet("\"'`=").map((ends, c) => (c <= 0x20 ? 1 : ends));

/** `user:password@tcp(host:3306)/database`, as Go's MySQL driver writes it; not beyond another `tcp(` or `unix(`. */
export function scanDsn({ bytes, text }: NormalizedText, keywordAt: number, found: Span[]): void {
  let from = keywordAt;
  while (from > 0 && from > keywordAt - 200 && endsDsn[bytes[from - 1] ?? 0] === 0) {
    if (text[from - 1] === "(" && (text[from - 2] === "p" || text[from - 2] === "x")) break;
    from--;
  }
  const source = text.slice(from, keywordAt);
  const colon = source.indexOf(":", source.indexOf("://") + 1);
  const start = from + colon + 1;
  if (colon < 0 || !isUrlPassword(text.slice(start, keywordAt))) return;
  found.push({ start, end: keywordAt, rule: "url_password" });
}
