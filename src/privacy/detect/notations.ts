import { matchAt } from "#platform/text-search/match-at.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { isDummyValue, isRandom, shapeOf } from "./randomness.ts";
import { isUrlPassword } from "./urls.ts";
import { isPassword, isSecret } from "./values.ts";

/** A way to write a secret that a word of its own gives away: the option of a command, a clause of SQL, a line of a file. */
interface Notation {
  /** The keyword, as `keyword-index.ts` lists it. */
  readonly word: string;
  /** From the keyword on, sticky; the last group is the secret. */
  readonly pattern: RegExp;
  readonly rule?: string;
  /** What has to stand before the keyword, where that may mean anything. */
  readonly before?: RegExp;
  readonly isSecret?: (value: string) => boolean;
}

/** The words of a command up to the option that is looked for. */
const option = (command: string, rest: string, flags = "y") =>
  new RegExp(`${command}\\b(?:[^\\n|;&]{0,400}?)${rest}`, flags);
const isQuotedPassword = (value: string) => isPassword(value, "quoted");
const isGivenPassword = (value: string) => isCommandPassword(value) && isPassword(value, "quoted");

const seedPhrase =
  /(?:mnemonic|phrase|seed)[^\n:="'`]{0,40}["'`]?[ \t]{0,4}(?:[:=]|is)\s{0,8}["'`]?((?:[a-z]{3,8}[ ,\n]{1,2}){11,23}[a-z]{3,8})(?![a-z])/iy;
/** Common words that are not in the list wallets draw from. */
const isSeedPhrase = (words: string) =>
  !/\b(?:the|and|for|with|that|this|from|are|was|will|not|but|you|your|have|has|its|they|were|been|into|than)\b/.test(
    words,
  );

// biome-ignore format: one notation a line, so that the list reads as a table
const notations: readonly Notation[] = [
  // The passwords that commands take as options.
  { word: "curl", pattern: option("curl", String.raw`[ \t](?:-u|--user|--proxy-user)[ \t=]{0,3}["']?[^\s:"']{0,128}:([^\s"']{3,256})`) },
  { word: "mysql", pattern: option("mysql(?:dump|admin|import|sh)?", String.raw`[ \t]-p["']?([^\s"'-][^\s"']{2,128})`) },
  { word: "redis-cli", pattern: option("redis-cli", String.raw`[ \t](?:-a|--pass)[ \t]{1,3}["']?([^\s"']{3,256})`) },
  { word: "sqlplus", pattern: /sqlplus\b(?:[ \t]+-\S{1,20}){0,4}[ \t]+["']?\w{1,64}\/([^\s"']{3,128}?)@(?![^\s]*@)/y },
  { word: "unzip", pattern: option("unzip", String.raw`[ \t]-P[ \t]{0,2}["']?([^\s"']{3,256})`) },
  { word: "docker login", pattern: option("docker login", String.raw`[ \t](?:-p|-w)[ \t]{1,3}["']?([^\s"']{3,256})`) },
  { word: "sshpass", pattern: option("sshpass", String.raw`[ \t]-p[ \t]{0,3}["']?([^\s"']{3,256})`) },
  { word: "openssl", pattern: option("openssl", String.raw`(?:\bpass:|[ \t]-k[ \t]{1,3}["']?)([^\s"']{3,256})`) },
  { word: "sqlcmd", pattern: option("sqlcmd", String.raw`[ \t]-P[ \t]{1,3}["']?([^\s"']{3,256})`) },
  { word: "ldapsearch", pattern: option("ldapsearch", String.raw`[ \t]-w[ \t]{1,3}["']?([^\s"']{3,256})`) },
  { word: "smbclient", pattern: option("smbclient", String.raw`[ \t]-U[ \t]{0,2}["']?[^\s%"']{1,64}%([^\s"']{3,128})`) },
  { word: "7z ", pattern: option("7z", String.raw`[ \t]-p["']?([^\s"'-][^\s"']{2,128})`) },
  { word: "lftp", pattern: option("lftp", String.raw`[ \t]-u[ \t]{0,2}["']?[^\s,"']{1,64},([^\s"']{3,128})`) },
  { word: "htpasswd", pattern: option("htpasswd", String.raw`[ \t]-[a-z]*b[a-z]*[ \t][^\n]{1,200}[ \t]([^\s"']{3,256})`) },
  { word: "jdbc:oracle", pattern: /jdbc:oracle:(?:thin|oci):["']?[^/\s"'@]{1,64}\/["']?([^@\s"']{3,128})(?=["']?@)/y },
  { word: "convertto-securestring", pattern: /ConvertTo-SecureString(?:[ \t]{1,3}-String)?[ \t]{1,3}["']([^"'\n$]{3,256})/iy },
  { word: " -p ", pattern: /[ \t]-p[ \t]{1,3}["']?([^\s"'/-][^\s"']{5,127})/iy, before: /(?:^|[ \t])(?:-u|--user(?:name)?|login)\b[^\n|;&]{0,120}$/i, isSecret: isGivenPassword },
  { word: "/p:", pattern: /\/p:["']?([^\s"'/]{5,128})(?=["']?(?:\s|$))/y, before: /\/u(?:ser)?:\S[^\n]{0,120}$/i, isSecret: isGivenPassword },
  { word: "/user:", pattern: /\/user:["']?[\w.@\\-]{1,64}["']?[ \t]{1,3}["']?([^\s"'/*-][^\s"']{4,127})/iy, before: /\b(?:net(?:\.exe)?[ \t]{1,3}use|runas|cmdkey|New-PSDrive)\b[\s\S]{0,140}$/i, isSecret: isGivenPassword },
  { word: "<<<", pattern: /<<<[ \t]{0,2}["']?([^\s"'$(){}[\]]{6,128})["']?(?=\s|$)/y, before: /\b(?:sudo[ \t]{1,3}(?:-\w[ \t]{1,3}){0,3}-S|su|passwd|cryptsetup|kinit|gpg|ssh-add|openssl|docker login|--password-stdin|--passphrase-fd)\b[^\n]{0,100}$/, isSecret: isGivenPassword },
  // SQL; without quotes only in a statement, in contrast to `is also identified as windows-1255`.
  { word: "identified", pattern: /IDENTIFIED\s{1,4}(?:WITH\s{1,4}\S{1,40}\s{1,4})?(?:BY|AS)\s{1,4}(?:PASSWORD\s{1,4})?(["'`])([^"'`\s;]{3,256})\1/iy, isSecret: isQuotedPassword },
  { word: "identified", pattern: /IDENTIFIED\s{1,4}(?:WITH\s{1,4}\S{1,40}\s{1,4})?(?:BY|AS)\s{1,4}(?:PASSWORD\s{1,4})?([^"'`\s;]{3,256})/iy, isSecret: isQuotedPassword, before: /\b(?:create|alter|grant|user|role|database[ \t]{1,3}link)\b[^;]{0,150}$/i },
  // A line of PostgreSQL's password file: `host:port:database:user:password`.
  { word: ":5432:", pattern: /:5432:[^:\s]{1,63}:[^:\s]{1,63}:([^\s:]{3,128})(?=\s|$)/y, isSecret: isUrlPassword },
  // The words of a wallet: twelve to twenty-four, behind `seed`, `mnemonic` or `recovery phrase`.
  { word: "mnemonic", pattern: seedPhrase, rule: "seed_phrase", isSecret: isSeedPhrase },
  { word: "phrase", pattern: seedPhrase, rule: "seed_phrase", isSecret: isSeedPhrase },
];

const byWord = Map.groupBy(notations, ({ word }) => word);

/** Secrets that the notation around a keyword gives away. */
export function scanNotations({ text }: NormalizedText, at: number, word: string, found: Span[]): void {
  for (const { pattern, rule = "password", before, isSecret = isCommandPassword } of byWord.get(word) ?? []) {
    const match = matchAt(pattern, text, at);
    const value = match?.at(-1);
    if (match === undefined || value === undefined || !isSecret(value)) continue;
    if (before !== undefined && !before.test(text.slice(Math.max(0, at - 160), at))) continue;
    const start = at + match[0].lastIndexOf(value);
    found.push({ start, end: start + value.length, rule });
    return;
  }
}

function isCommandPassword(value: string): boolean {
  if (/^[$<{%[]|^(?:pass(?:word)?|secret|token|x-oauth-basic|changeme)$/i.test(value) || isDummyValue(value))
    return false;
  const shape = shapeOf(value);
  return shape.digits > 0 || shape.others > 0 || isRandom(shape) || value.length >= 8;
}

const piped =
  /\b(?:echo[ \t]{1,3}(?:-[neE]{1,3}[ \t]{1,3})?|printf[ \t]{1,3}(?:["']?%s(?:\\n)?["']?[ \t]{1,3})?)["']?([^"'|\n]{3,128}?)["']?[ \t]{0,3}\|[^|\n]{0,160}$/;

/** `echo … | docker login --password-stdin`. */
export function scanPiped({ text }: NormalizedText, keywordAt: number, found: Span[]): void {
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
