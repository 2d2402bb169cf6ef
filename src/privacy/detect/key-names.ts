import { LruMap } from "#platform/lru-map.ts";
import { wordList } from "#privacy/rules/tables.ts";
import { tokenRules } from "#privacy/rules/token-rules.ts";

/** What the name beside a value says about the value. */
export type KeyKind =
  /** Chosen by people: any length from 4, any characters. */
  | "password"
  /** Drawn by machines: long and random. */
  | "secret"
  /** `key`, `auth`, `credential` alone: often no secret at all. */
  | "weak"
  | "none";

export interface KeyName {
  readonly kind: KeyKind;
  /** The rule that a value beside it is reported under. */
  readonly rule: string;
}

const passwordWords = wordList("passwordWords");
const compoundPasswordWord =
  /(?:password|passwd|passphrase|passcode|passwort|pwd|(?:store|key|user|db|sql|root|my|admin|ftp|mail|smtp|imap|ssh|ldap|wifi|wlan|login|auth|proxy|http|web|redis|bind|become|sudo|cert|trust|svc|service|app|vpn|rdp|vnc|mqtt|rabbit|pg|postgres|mongo|ora|oracle|sys|src|dst|dest|new|old|group|master|cluster|enable|backup|zip|pdf|archive|jks|p12|pfx)pass)$/;
const compoundSecretWord =
  /(?:secret|token|apikey|accesskey|secretkey|authkey|privatekey|masterkey|licensekey|encryptionkey|signingkey|clientkey|appkey|servicekey|sharedkey|accountkey|hmackey|seckey|subscriptionkey|secretaccesskey|skey|fernetkey)$/;

/** Words that make a `key` beside them a credential. */
const keyQualifiers = wordList("keyQualifiers");
const saltQualifiers = wordList("saltQualifiers");
/** Words that make a `key` or `token` beside them no credential, in front of it. */
const notSecretBefore = wordList("notSecretBefore");
/** Words that make a name no credential, behind the key word. */
const notSecretAfter = wordList("notSecretAfter");
/** What `pass` before it is a verb for. */
const passVerbObjects = wordList("passVerbObjects");
const passwordNotBefore = wordList("passwordNotBefore");

/** Words that name a vendor or what a service is for: a `key` beside one of them is a credential. */
const vendorWords = new Set([
  ...wordList("vendorWords"),
  ...tokenRules.map(({ id }) => id.slice(0, id.indexOf("_"))).filter((word) => word.length > 3),
]);

const keyNameCache = new LruMap<string, KeyName>(4_096);
const none: KeyName = { kind: "none", rule: "" };

/** Reads an identifier such as `spring.datasource.password`, `backendApiKey`, `X-Api-Key` or `max_tokens`. */
export function readKeyName(name: string): KeyName {
  let answer = keyNameCache.get(name);
  if (answer === undefined) {
    answer = parseKeyName(name);
    keyNameCache.set(name, answer);
  }
  return answer;
}

/** Whether a value is itself the name of a secret. Unlike names, values are not remembered. */
export function isKeyName(value: string): boolean {
  return value.length <= 128 && parseKeyName(value).kind !== "none";
}

function parseKeyName(name: string): KeyName {
  const parts = nameParts(name);
  for (let i = parts.length - 1; i >= 0; i--) {
    const part = parts[i] ?? "";
    const rule = ruleOf(parts, i, part);
    if (rule === undefined) continue;
    for (let j = i + 1; j < parts.length; j++) if (notSecretAfter.has(parts[j] ?? "")) return none;
    const before = parts.slice(0, i);
    if (before.at(-1) === "key" && before.at(-2) === "public") return none; // `publicKeyToken` of an assembly
    if (part === "pass" && passVerbObjects.has(parts[i + 1] ?? "")) return none;
    if (rule.kind === "password") return before.some((word) => passwordNotBefore.has(word)) ? none : rule;
    const last = before.at(-1);
    if (
      last !== undefined &&
      ((rule.rule !== "credential" && notSecretBefore.has(last)) || passwordNotBefore.has(last))
    ) {
      // What signs a form's tokens is secret, the tokens are not; an account has a primary key, and so has a table.
      if ((last === "csrf" || last === "xsrf") && rule.rule === "secret") return rule;
      return last === "primary" || last === "secondary" ? { kind: "weak", rule: rule.rule } : none;
    }
    return rule;
  }
  return none;
}

/** The words of a name, in small letters: `spring`, `datasource`, `password`. */
function nameParts(name: string): readonly string[] {
  const parts = name.replaceAll("\xb3", "l").match(/[A-Z]+(?![a-z])|[A-Z]?[a-z\xc0-\xff]+|[0-9]+/g) ?? [];
  return parts.map((part) => part.toLowerCase());
}

const secret = (rule: string): KeyName => ({ kind: "secret", rule });
const weak = (rule: string): KeyName => ({ kind: "weak", rule });
const password: KeyName = { kind: "password", rule: "password" };
/** Words that say by themselves what stands beside them. */
const ruleByWord: ReadonlyMap<string, KeyName> = new Map([
  ...["secret", "secrets"].map((word) => [word, secret("secret")] as const),
  ...["token", "tok"].map((word) => [word, secret("token")] as const),
  ...["apikey", "apikeys", "apitoken"].map((word) => [word, secret("api_key")] as const),
  ...["authorization", "bearer", "authtoken"].map((word) => [word, secret("auth_header")] as const),
  ...["credential", "credentials", "creds", "cred", "auth"].map((word) => [word, weak("credential")] as const),
  ["erlangcookie", password],
]);

function ruleOf(parts: readonly string[], index: number, part: string): KeyName | undefined {
  if (passwordWords.has(part) || compoundPasswordWord.test(part)) return password;
  const known = ruleByWord.get(part);
  if (known !== undefined) return known;
  const before = parts[index - 1];
  const isQualified = (words: ReadonlySet<string>) => parts.slice(0, index).some((word) => words.has(word));
  if (part === "key" || part === "keys") {
    // `AccountKey`, `api key`, `DD_API_KEY`; a vendor's name before `key` is as good as `api`.
    const kind = isQualified(keyQualifiers) || isQualified(vendorWords) ? "secret" : "weak";
    return {
      kind,
      rule: before === "private" || before === "secret" || before === "encryption" ? "secret_key" : "api_key",
    };
  }
  if (part === "salt") return isQualified(saltQualifiers) ? secret("secret_key") : undefined; // WordPress
  if (part === "cookie") return before === "erlang" ? password : undefined;
  return compoundSecretWord.test(part) ? secret(part.endsWith("token") ? "token" : "secret_key") : undefined;
}
