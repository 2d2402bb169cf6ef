import { matchAt } from "#platform/text-search/match-at.ts";
import { byteSet } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { isDummyValue, looksRandom } from "./randomness.ts";

const userInfo = /([^\s/?#"'<>@\\:|,;(){}[\]]{0,128}):([^\s/?#"'<>\\]{1,256}?)@(?=[\w[.$%{-])/y;
const looseUserInfo = /([^\s/?#"'<>@\\:|,;(){}[\]]{0,128}):([^\s"'<>\\]{1,256})@(?=[\w.-]{1,253}(?:[:/?\s"',]|$))/y;
const tokenInfo = /([^\s/?#"'<>@\\:|,;(){}[\]]{16,512})@(?=[\w.-])/y;

/** URLs that are the credential: a caller who knows the path may post. Part of the host, the cheap question, and from behind `://`; group 1 is the secret. */
// biome-ignore format: one webhook a line, so that the list reads as a table
const webhooks: readonly (readonly [rule: string, host: string, pattern: RegExp])[] = [
  ["slack_webhook", "hooks.slack", /hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)\/([A-Za-z0-9+/_-]{20,160})/y],
  ["discord_webhook", "discord", /(?:[\w-]{1,16}\.)?discord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/(\d{15,22}\/[\w-]{40,90})/y],
  ["telegram_bot_url", "api.telegram", /api\.telegram\.org\/(?:file\/)?bot(\d{6,12}:[\w-]{30,40})/y],
  ["teams_webhook", "office", /(?:[\w-]{1,64}\.webhook|outlook)\.office(?:365)?\.com\/webhook(?:b2)?\/([\w@-]{40,90}\/IncomingWebhook\/[\w/-]{30,120})/y],
  ["zapier_webhook", "hooks.zapier", /hooks\.zapier\.com\/hooks\/(?:catch|standard)\/([\w/-]{8,80})/y],
  ["make_webhook", "hook.", /hook\.(?:[a-z0-9]{2,5}\.)?(?:make|integromat)\.com\/(\w{24,40})/y],
  ["ifttt_webhook", "maker.ifttt", /maker\.ifttt\.com\/(?:use|trigger\/[\w-]{1,64}(?:\/json)?\/with\/key)\/([\w-]{20,64})/y],
  ["google_chat_webhook", "chat.googleapis", /chat\.googleapis\.com\/v1\/spaces\/[\w-]{4,64}\/messages\?(key=[\w-]{20,64}&token=[\w%=-]{20,128})/y],
  ["feishu_webhook", "open.", /open\.(?:feishu\.cn|larksuite\.com)\/open-apis\/bot\/v2\/hook\/([\w-]{20,64})/y],
  ["wecom_webhook", "qyapi.weixin", /qyapi\.weixin\.qq\.com\/cgi-bin\/webhook\/send\?key=([\w-]{20,64})/y],
  ["dingtalk_webhook", "oapi.dingtalk", /oapi\.dingtalk\.com\/robot\/send\?access_token=(\w{32,128})/y],
  ["mattermost_webhook", "/hooks/", /[\w.-]{4,128}(?::\d{1,5})?\/hooks\/([a-z0-9]{26})(?![a-z0-9])/y],
  ["pipedream_webhook", "m.pipedream", /(eo[a-z0-9]{12,32})\.m\.pipedream\.net/y],
  ["logic_app_url", "logic.azure", /[\w.-]{4,128}\.logic\.azure\.com(?::443)?\/[^\s"'<>]{1,400}?[?&]sig=([\w%-]{20,90})/y],
  ["splunk_or_tines_webhook", "tines", /[\w-]{1,64}\.tines\.(?:com|io)\/webhook\/([\w/-]{32,140})/y],
  ["gitter_or_matrix_webhook", "webhooks.gitter", /webhooks\.gitter\.im\/e\/([a-f0-9]{20,40})/y],
  ["sumologic_collector_url", "sumologic", /[\w.-]{4,80}\.sumologic\.com\/receiver\/v1\/http\/([A-Za-z0-9+/=_-]{40,160})/y],
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
];

const webhookHosts =
  /slack|discord|telegram|office|zapier|hook\.|maker\.|googleapis|feishu|larksuite|weixin|dingtalk|\/hooks\/|pipedream|logic\.|tines|gitter|hc-ping|infura|alchemy|sumologic|chime\.aws|webexapis|pagerduty|victorops|hooks\.|ftqq|betterstack/;

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
  for (const [rule, host, pattern] of webhooks) {
    if (!near.includes(host)) continue;
    const secret = matchAt(pattern, text, at)?.[1];
    if (secret === undefined || isDummyValue(secret)) continue;
    const start = text.indexOf(secret, at);
    found.push({ start, end: start + secret.length, rule });
    return;
  }
}

/** Whether something stands before the `@` of an authority. */
function scanUserInfo(text: string, at: number, found: Span[]): boolean {
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
    return true;
  }
  const token = matchAt(tokenInfo, text, at)?.[1];
  if (token === undefined || !looksRandom(token) || isDummyValue(token)) return false;
  found.push({ start: at, end: at + token.length, rule: "url_password" });
  return true;
}

const nonSecretPasswords =
  /^(?:[a-z]{1,4}|pass(?:word|wd)?|pwd|secret|user(?:name)?|token|x-oauth-basic|x-access-token|key|port|host|[*x.]+|\d{1,5}|changeme|example|none|null|api_?key|db_?pass(?:word)?|my_?password|your_?password)$/i;

/** The password of a URL: anything but a dummy value or a reference counts. */
export function isUrlPassword(password: string): boolean {
  if (password.length < 3 || nonSecretPasswords.test(password)) return false;
  if (/^[{<[(]|^\*+$|^%\w+%?$|^\$[A-Za-z_]\w*$|\$\{|\{\{|^%s$|REDACTED|\*{3}|x{5}|\.{3}/.test(password)) return false;
  if (/^[A-Z][A-Z_]+$/.test(password) && password.includes("_")) return false;
  return !isDummyValue(password);
}

/** What a data source's name cannot hold: white space, quotes, `=`. */
const endsDsn = byteSet("\"'`=").map((ends, c) => (c <= 0x20 ? 1 : ends));

/** `user:password@tcp(host:3306)/database`, as Go's MySQL driver writes it; not beyond the bracket of another `tcp(` or `unix(`. */
export function scanDsn({ bytes, text }: NormalizedText, keywordAt: number, found: Span[]): void {
  let from = keywordAt;
  while (from > 0 && from > keywordAt - 200 && endsDsn[bytes[from - 1] ?? 0] === 0) {
    if (text[from - 1] === "(" && (text[from - 2] === "p" || text[from - 2] === "x")) break;
    from--;
  }
  const colon = text.slice(from, keywordAt).indexOf(":");
  const start = from + colon + 1;
  if (colon < 0 || !isUrlPassword(text.slice(start, keywordAt))) return;
  found.push({ start, end: keywordAt, rule: "url_password" });
}
