import { classes, inToken } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { isDummyValue, isRandom, looksRandom, shapeOf } from "./values/randomness.ts";
import { isPassword, isSecret } from "./values/values.ts";

/** Longest private key that is read as one; a longer block is cut there. */
const maxKeyLength = 24_576;

const userInfo = /([^\s/?#"'<>@\\:|,;(){}[\]]{0,128}):([^\s/?#"'<>\\]{1,256}?)@(?=[\w[.$%{-])/y;
const looseUserInfo = /([^\s/?#"'<>@\\:|,;(){}[\]]{0,128}):([^\s"'<>\\]{1,256})@(?=[\w.-]{1,253}(?:[:/?\s"',]|$))/y;
const tokenInfo = /([^\s/?#"'<>@\\:|,;(){}[\]]{16,512})@(?=[\w.-])/y;

interface Webhook {
  readonly rule: string;
  /** Part of the host; the cheap question. */
  readonly host: string;
  /** From behind `://`; what group 1 matches is the secret. */
  readonly pattern: RegExp;
}

/** Addresses that are the credential: whoever knows the path may post. */
const webhooks: readonly Webhook[] = [
  [
    "slack_webhook",
    "hooks.slack",
    /hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)\/([A-Za-z0-9+/_-]{20,160})/y,
  ],
  [
    "discord_webhook",
    "discord",
    /(?:[\w-]{1,16}\.)?discord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/(\d{15,22}\/[\w-]{40,90})/y,
  ],
  ["telegram_bot_url", "api.telegram", /api\.telegram\.org\/(?:file\/)?bot(\d{6,12}:[\w-]{30,40})/y],
  [
    "teams_webhook",
    "office",
    /(?:[\w-]{1,64}\.webhook|outlook)\.office(?:365)?\.com\/webhook(?:b2)?\/([\w@-]{40,90}\/IncomingWebhook\/[\w/-]{30,120})/y,
  ],
  ["zapier_webhook", "hooks.zapier", /hooks\.zapier\.com\/hooks\/(?:catch|standard)\/([\w/-]{8,80})/y],
  ["make_webhook", "hook.", /hook\.(?:[a-z0-9]{2,5}\.)?(?:make|integromat)\.com\/(\w{24,40})/y],
  [
    "ifttt_webhook",
    "maker.ifttt",
    /maker\.ifttt\.com\/(?:use|trigger\/[\w-]{1,64}(?:\/json)?\/with\/key)\/([\w-]{20,64})/y,
  ],
  [
    "google_chat_webhook",
    "chat.googleapis",
    /chat\.googleapis\.com\/v1\/spaces\/[\w-]{4,64}\/messages\?(key=[\w-]{20,64}&token=[\w%=-]{20,128})/y,
  ],
  ["feishu_webhook", "open.", /open\.(?:feishu\.cn|larksuite\.com)\/open-apis\/bot\/v2\/hook\/([\w-]{20,64})/y],
  ["wecom_webhook", "qyapi.weixin", /qyapi\.weixin\.qq\.com\/cgi-bin\/webhook\/send\?key=([\w-]{20,64})/y],
  ["dingtalk_webhook", "oapi.dingtalk", /oapi\.dingtalk\.com\/robot\/send\?access_token=(\w{32,128})/y],
  ["mattermost_webhook", "/hooks/", /[\w.-]{4,128}(?::\d{1,5})?\/hooks\/([a-z0-9]{26})(?![a-z0-9])/y],
  ["pipedream_webhook", "m.pipedream", /(eo[a-z0-9]{12,32})\.m\.pipedream\.net/y],
  [
    "logic_app_url",
    "logic.azure",
    /[\w.-]{4,128}\.logic\.azure\.com(?::443)?\/[^\s"'<>]{1,400}?[?&]sig=([\w%-]{20,90})/y,
  ],
  ["splunk_or_tines_webhook", "tines", /[\w-]{1,64}\.tines\.(?:com|io)\/webhook\/([\w/-]{32,140})/y],
  ["gitter_or_matrix_webhook", "webhooks.gitter", /webhooks\.gitter\.im\/e\/([a-f0-9]{20,40})/y],
  [
    "sumologic_collector_url",
    "sumologic",
    /[\w.-]{4,80}\.sumologic\.com\/receiver\/v1\/http\/([A-Za-z0-9+/=_-]{40,160})/y,
  ],
  ["chime_webhook", "hooks.chime", /hooks\.chime\.aws\/incomingwebhooks\/([\w-]{30,40}\?token=[\w%=-]{20,100})/y],
  ["webex_webhook", "webexapis", /webexapis\.com\/v1\/webhooks\/incoming\/([\w-]{60,120})/y],
  ["pagerduty_integration_url", "pagerduty", /events\.(?:eu\.)?pagerduty\.com\/integration\/([a-f0-9]{32})/y],
  ["victorops_url", "victorops", /alert\.victorops\.com\/integrations\/generic\/\d{6,10}\/alert\/([\w-]{30,40})/y],
  ["rocketchat_webhook", "/hooks/", /[\w.-]{4,128}(?::\d{1,5})?\/hooks\/([A-Za-z0-9]{15,26}\/[A-Za-z0-9]{40,70})/y],
  ["glip_webhook", "hooks.", /hooks\.(?:glip|ringcentral)\.com\/webhook\/(?:v2\/)?([\w-]{36,80})/y],
  ["bark_or_serverchan_url", "ftqq", /sctapi\.ftqq\.com\/(SCT\w{20,60})/y],
  ["heartbeat_url", "betterstack", /uptime\.betterstack\.com\/api\/v1\/heartbeat\/([A-Za-z0-9]{20,40})/y],
  ["uptime_push_url", "hc-ping", /hc-ping\.com\/([a-f0-9-]{36})/y],
  ["rapidapi_or_infura_url", "infura", /[\w-]{1,40}\.infura\.io\/(?:ws\/)?v3\/([a-f0-9]{32})/y],
  ["alchemy_url", "alchemy", /[\w-]{1,40}\.(?:g\.alchemy|alchemyapi)\.(?:com|io)\/v2\/([\w-]{32})/y],
].map(([rule, host, pattern]) => ({ rule, host, pattern }) as Webhook); // a table of triples, read as records

const webhookHosts =
  /slack|discord|telegram|office|zapier|hook\.|maker\.|googleapis|feishu|larksuite|weixin|dingtalk|\/hooks\/|pipedream|logic\.|tines|gitter|hc-ping|infura|alchemy|sumologic|chime\.aws|webexapis|pagerduty|victorops|hooks\.|ftqq|betterstack/;

/** Reads what stands behind a `://` at `anchor`: user and password, a token in their place, the address of a webhook. */
export function scanUrl(normalized: NormalizedText, anchor: number, found: Span[]): void {
  const { text } = normalized;
  const at = anchor + 3;
  let info = matchAt(userInfo, text, at);
  if (info === undefined) {
    // A password that was put in without percent-encoding, `/` or `#` and all; the last `@` counts.
    const loose = matchAt(looseUserInfo, text, at);
    if (loose !== undefined && !/^(?:\d{1,5}|port)\//i.test(loose[2] ?? "")) info = loose;
  }
  if (info !== undefined) {
    const user = info[1] ?? "";
    const password = info[2] ?? "";
    const start = at + user.length + 1;
    // https://ghp_…:x-oauth-basic@host: the token is the user.
    if (user.length >= 16 && looksRandom(user) && !isDummyValue(user))
      found.push({ start: at, end: at + user.length, rule: "url_password" });
    if (isUrlPassword(password)) found.push({ start, end: start + password.length, rule: "url_password" });
    return;
  }
  const token = matchAt(tokenInfo, text, at)?.[1];
  if (token !== undefined && looksRandom(token) && !isDummyValue(token)) {
    found.push({ start: at, end: at + token.length, rule: "url_password" });
    return;
  }
  const near = text.slice(at, at + 160);
  if (!webhookHosts.test(near)) return;
  for (const { rule, host, pattern } of webhooks) {
    if (!near.includes(host)) continue;
    const match = matchAt(pattern, text, at);
    const secret = match?.[1];
    if (match === undefined || secret === undefined || isDummyValue(secret)) continue;
    const start = text.indexOf(secret, at);
    found.push({ start, end: start + secret.length, rule });
    return;
  }
}

const nonSecretPasswords =
  /^(?:[a-z]{1,4}|pass(?:word|wd)?|pwd|secret|user(?:name)?|token|x-oauth-basic|x-access-token|key|port|host|[*x.]+|\d{1,5}|changeme|example|none|null|api_?key|db_?pass(?:word)?|my_?password|your_?password)$/i;

/** Whoever writes a password into an address has one: anything but a stand-in or a reference counts. */
function isUrlPassword(password: string): boolean {
  if (password.length < 3 || nonSecretPasswords.test(password)) return false;
  if (/^[{<[(]|^\*+$|^%\w+%?$|^\$[A-Za-z_]\w*$|\$\{|\{\{|^%s$|REDACTED|\*{3}|x{5}|\.{3}/.test(password)) return false;
  if (/^[A-Z][A-Z_]+$/.test(password) && password.includes("_")) return false;
  return !isDummyValue(password);
}

const pemBegin = /-----BEGIN ((?:[A-Z0-9][A-Z0-9 ]{0,40} )?PRIVATE KEY(?: BLOCK)?)-----/y;
/** The way of SSH Communications Security (RFC 4716), with blanks. */
const ssh2Begin = /BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----/y;
const pemMarker = /----[- ](END|BEGIN)/g;
const keyCharacters = /[A-Za-z0-9+/=\s"',:;\\().*_|>+-]{0,400}/y;

/** Reads a private key from its `-----BEGIN`; a key that is cut off is taken as far as it goes. */
export function scanPem(normalized: NormalizedText, anchor: number, found: Span[]): number {
  const { text } = normalized;
  const head = matchAt(pemBegin, text, anchor) ?? matchAt(ssh2Begin, text, anchor);
  if (head === undefined) return anchor + 10;
  const label = head[1] ?? "";
  const start = anchor + head[0].length;
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
  return ((classes[c] ?? 0) & inToken) !== 0 || c === 0x2b || c === 0x2f || c === 0x3d;
}

/** Longest PuTTY key with its public part; a longer one is cut there. */
const maxPuttyLength = 8_192;
const putty = /PuTTY-User-Key-File-\d: [^\n]{1,80}\n/y;

/** A PuTTY key: everything from `Private-Lines` on, and its MAC. */
export function scanPutty(normalized: NormalizedText, anchor: number, found: Span[]): void {
  const { text } = normalized;
  if (matchAt(putty, text, anchor) === undefined) return;
  const key = text.slice(anchor, anchor + maxPuttyLength);
  const lines = key.indexOf("Private-Lines:");
  if (lines < 0) return;
  const mac = key.indexOf("Private-MAC:", lines);
  const end = anchor + (mac >= 0 ? mac : key.length);
  const start = text.indexOf("\n", anchor + lines) + 1;
  if (start > 0 && start < end) addKeyBody(normalized, start, end, "putty_private_key", found);
}

const identified =
  /IDENTIFIED\s{1,4}(?:WITH\s{1,4}\S{1,40}\s{1,4})?(?:BY|AS)\s{1,4}(?:PASSWORD\s{1,4})?(["'`]?)([^"'`\s;]{3,256})\1/iy;

const statement = /\b(?:create|alter|grant|user|role|database[ \t]{1,3}link)\b[^;]{0,150}$/i;

/** `IDENTIFIED BY '…'` in SQL. */
export function scanSql(normalized: NormalizedText, anchor: number, found: Span[]): void {
  const match = matchAt(identified, normalized.text, anchor);
  const value = match?.[2];
  if (value === undefined || match === undefined || !isPassword(value, "quoted")) return;
  // `is also identified as windows-1255`: without quotes only in a statement.
  if (match[1] === "" && !statement.test(normalized.text.slice(Math.max(0, anchor - 160), anchor))) return;
  const start = anchor + match[0].lastIndexOf(value);
  found.push({ start, end: start + value.length, rule: "password" });
}

interface PasswordOption {
  readonly tool: string;
  /** From the tool's name on; group 1 is the secret. */
  readonly pattern: RegExp;
}

const optionWords = "(?:[^\\n|;&]{0,400}?)";
const passwordOptions: readonly PasswordOption[] = [
  {
    tool: "curl",
    pattern: new RegExp(
      `curl\\b${optionWords}[ \\t](?:-u|--user|--proxy-user)[ \\t=]{0,3}["']?[^\\s:"']{0,128}:([^\\s"']{3,256})`,
      "y",
    ),
  },
  {
    tool: "mysql",
    pattern: new RegExp(`mysql(?:dump|admin|import|sh)?\\b${optionWords}[ \\t]-p["']?([^\\s"'-][^\\s"']{2,128})`, "y"),
  },
  {
    tool: "redis-cli",
    pattern: new RegExp(`redis-cli\\b${optionWords}[ \\t](?:-a|--pass)[ \\t]{1,3}["']?([^\\s"']{3,256})`, "y"),
  },
  { tool: "sqlplus", pattern: /sqlplus\b(?:[ \t]+-\S{1,20}){0,4}[ \t]+["']?\w{1,64}\/([^\s"']{3,128}?)@(?![^\s]*@)/y },
  { tool: "unzip", pattern: new RegExp(`unzip\\b${optionWords}[ \\t]-P[ \\t]{0,2}["']?([^\\s"']{3,256})`, "y") },
  {
    tool: "docker login",
    pattern: new RegExp(`docker login\\b${optionWords}[ \\t](?:-p|-w)[ \\t]{1,3}["']?([^\\s"']{3,256})`, "y"),
  },
  { tool: "sshpass", pattern: new RegExp(`sshpass\\b${optionWords}[ \\t]-p[ \\t]{0,3}["']?([^\\s"']{3,256})`, "y") },
  {
    tool: "openssl",
    pattern: new RegExp(`openssl\\b${optionWords}(?:\\bpass:|[ \\t]-k[ \\t]{1,3}["']?)([^\\s"']{3,256})`, "y"),
  },
  { tool: "sqlcmd", pattern: new RegExp(`sqlcmd\\b${optionWords}[ \\t]-P[ \\t]{1,3}["']?([^\\s"']{3,256})`, "y") },
  {
    tool: "ldapsearch",
    pattern: new RegExp(`ldapsearch\\b${optionWords}[ \\t]-w[ \\t]{1,3}["']?([^\\s"']{3,256})`, "y"),
  },
  {
    tool: "smbclient",
    pattern: new RegExp(`smbclient\\b${optionWords}[ \\t]-U[ \\t]{0,2}["']?[^\\s%"']{1,64}%([^\\s"']{3,128})`, "y"),
  },
  { tool: "7z ", pattern: new RegExp(`7z\\b${optionWords}[ \\t]-p["']?([^\\s"'-][^\\s"']{2,128})`, "y") },
  { tool: "jdbc:oracle", pattern: /jdbc:oracle:(?:thin|oci):["']?[^/\s"'@]{1,64}\/["']?([^@\s"']{3,128})(?=["']?@)/y },
  {
    tool: "convertto-securestring",
    pattern: /ConvertTo-SecureString(?:[ \t]{1,3}-String)?[ \t]{1,3}["']([^"'\n$]{3,256})/iy,
  },
  {
    tool: "lftp",
    pattern: new RegExp(`lftp\\b${optionWords}[ \\t]-u[ \\t]{0,2}["']?[^\\s,"']{1,64},([^\\s"']{3,128})`, "y"),
  },
  { tool: " -p ", pattern: /[ \t]-p[ \t]{1,3}["']?([^\s"'/-][^\s"']{5,127})/iy },
  { tool: "/p:", pattern: /\/p:["']?([^\s"'/]{5,128})(?=["']?(?:\s|$))/y },
  { tool: "/user:", pattern: /\/user:["']?[\w.@\\-]{1,64}["']?[ \t]{1,3}["']?([^\s"'/*-][^\s"']{4,127})/iy },
  { tool: "<<<", pattern: /<<<[ \t]{0,2}["']?([^\s"'$(){}[\]]{6,128})["']?(?=\s|$)/y },
  {
    tool: "htpasswd",
    pattern: new RegExp(`htpasswd\\b${optionWords}[ \\t]-[a-z]*b[a-z]*[ \\t][^\\n]{1,200}[ \\t]([^\\s"']{3,256})`, "y"),
  },
];

/** What has to stand in the line before, where the mark itself may mean anything. */
const requiredLead: Readonly<Record<string, RegExp>> = {
  " -p ": /(?:^|[ \t])(?:-u|--user(?:name)?|login)\b[^\n|;&]{0,120}$/i,
  "/p:": /\/u(?:ser)?:\S[^\n]{0,120}$/i,
  "/user:": /\b(?:net(?:\.exe)?[ \t]{1,3}use|runas|cmdkey|New-PSDrive)\b[\s\S]{0,140}$/i,
  "<<<":
    /\b(?:sudo[ \t]{1,3}(?:-\w[ \t]{1,3}){0,3}-S|su|passwd|cryptsetup|kinit|gpg|ssh-add|openssl|docker login|--password-stdin|--passphrase-fd)\b[^\n]{0,100}$/,
};

/** Passwords that a command takes as an option: `curl -u user:…`, `mysql -p…`. */
export function scanCommand(normalized: NormalizedText, anchor: number, tool: string, found: Span[]): void {
  const { text } = normalized;
  for (const option of passwordOptions) {
    if (option.tool !== tool) continue;
    option.pattern.lastIndex = anchor;
    const match = option.pattern.exec(text);
    const value = match?.[1];
    if (value === undefined || match === null || !isCommandPassword(value)) continue;
    const asked = requiredLead[tool];
    if (
      asked !== undefined &&
      !(asked.test(text.slice(Math.max(0, anchor - 160), anchor)) && isPassword(value, "quoted"))
    )
      continue;
    const start = match.index + match[0].lastIndexOf(value);
    found.push({ start, end: start + value.length, rule: "password" });
  }
}

function isCommandPassword(value: string): boolean {
  if (/^[$<{%[]|^(?:pass(?:word)?|secret|token|x-oauth-basic|changeme)$/i.test(value) || isDummyValue(value))
    return false;
  const shape = shapeOf(value);
  return shape.digits > 0 || shape.others > 0 || isRandom(shape) || value.length >= 8;
}

/** Runs a sticky pattern at a place. */
function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

const seedPhrase =
  /(?:mnemonic|phrase|seed)[^\n:="'`]{0,40}["'`]?[ \t]{0,4}(?:[:=]|is)\s{0,8}["'`]?((?:[a-z]{3,8}[ ,\n]{1,2}){11,23}[a-z]{3,8})(?![a-z])/iy;
/** Common words that are not in the list wallets draw from. */
const nonWalletWords =
  /\b(?:the|and|for|with|that|this|from|are|was|will|not|but|you|your|have|has|its|they|were|been|into|than)\b/;

/** The words of a wallet: twelve to twenty-four, behind `seed`, `mnemonic` or `recovery phrase`. */
export function scanPhrase(normalized: NormalizedText, anchor: number, found: Span[]): void {
  const match = matchAt(seedPhrase, normalized.text, anchor);
  const words = match?.[1];
  if (match === undefined || words === undefined || nonWalletWords.test(words)) return;
  const end = anchor + match[0].length;
  found.push({ start: end - words.length, end, rule: "seed_phrase" });
}

const cookieHead = /["'`]?\]?[ \t]{0,4}[:=,][ \t]{0,4}["'`]?/y;
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

/** `user:password@tcp(host:3306)/database`, as Go's MySQL driver writes it. */
export function scanDsn(normalized: NormalizedText, anchor: number, found: Span[]): void {
  const { bytes, text } = normalized;
  const limit = Math.max(0, anchor - 200);
  let from = anchor;
  while (from > limit && !endsDsn(bytes[from - 1] ?? 0) && !isHostBracket(bytes, from - 1)) from--;
  const colon = text.indexOf(":", from);
  if (colon < 0 || colon >= anchor || !isUrlPassword(text.slice(colon + 1, anchor))) return;
  found.push({ start: colon + 1, end: anchor, rule: "url_password" });
}

/** The bracket of another `tcp(` or `unix(`. */
function isHostBracket(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0x28 && (bytes[at - 1] === 0x70 || bytes[at - 1] === 0x78);
}

function endsDsn(c: number): boolean {
  return c <= 0x20 || c === 0x22 || c === 0x27 || c === 0x60 || c === 0x3d;
}

const pgpass = /:5432:[^:\s]{1,63}:[^:\s]{1,63}:([^\s:]{3,128})(?=\s|$)/y;

/** A line of PostgreSQL's password file: `host:port:database:user:password`. */
export function scanPgpass(normalized: NormalizedText, anchor: number, found: Span[]): void {
  const match = matchAt(pgpass, normalized.text, anchor);
  const password = match?.[1];
  if (match === undefined || password === undefined || !isUrlPassword(password)) return;
  const end = anchor + match[0].length;
  found.push({ start: end - password.length, end, rule: "password" });
}

const piped = /\becho[ \t]{1,3}(?:-[neE]{1,3}[ \t]{1,3})?["']?([^"'|\n]{3,128}?)["']?[ \t]{0,3}\|[^|\n]{0,160}$/;

/** `echo … | docker login --password-stdin`. */
export function scanPiped(normalized: NormalizedText, anchor: number, found: Span[]): void {
  const from = Math.max(0, anchor - 300);
  const match = piped.exec(normalized.text.slice(from, anchor));
  const value = match?.[1];
  if (match === null || value === undefined) return;
  // `user:password`, as `chpasswd` reads it.
  const user = /^[\w.-]{1,32}:(?=\S{3})/.exec(value)?.[0].length ?? 0;
  if (!isPassword(value.slice(user), "quoted")) return;
  const start = from + match.index + match[0].indexOf(value) + user;
  found.push({ start, end: start + value.length - user, rule: "password" });
}
