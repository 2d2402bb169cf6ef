import { vendorWords } from "#privacy/rules/vendor-words.ts";

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

const passwordWords = words(
  "password passwords passwd passphrase passcode pass pwd passwort kennwort parole senha contrasena contraseña clave motdepasse wachtwoord haslo hasło heslo hesla lozinka salasana adgangskode adgangskoden lösenord lösenordet losenord passord passordet jelszó jelszava parola parol passw userpass dbpass pw passe psk requirepass haslo masterauth rootpw adminpw",
);
const compoundPasswordWord =
  /(?:password|passwd|passphrase|passcode|passwort|pwd|(?:store|key|user|db|sql|root|my|admin|ftp|mail|smtp|imap|ssh|ldap|wifi|wlan|login|auth|proxy|http|web|redis|bind|become|sudo|cert|trust|svc|service|app|vpn|rdp|vnc|mqtt|rabbit|pg|postgres|mongo|ora|oracle|sys|src|dst|dest|new|old|group|master|cluster|enable|backup|zip|pdf|archive|jks|p12|pfx)pass)$/;
const compoundSecretWord =
  /(?:secret|token|apikey|accesskey|secretkey|authkey|privatekey|masterkey|licensekey|encryptionkey|signingkey|clientkey|appkey|servicekey|sharedkey|accountkey|hmackey|seckey|subscriptionkey|secretaccesskey|skey|fernetkey)$/;

/** Words that make a `key` beside them a credential. */
const keyQualifiers = words(
  "api access secret private encryption encrypt encrypted decrypt decryption signing sign signature master auth authentication authorization account shared client service license licence admin app application webhook storage subscription deploy integration write read ingest ingestion app server session cookie hmac aes jwt rsa ssh root user db database vault consumer developer dev personal prod production live sandbox merchant payment publishable restricted project org organization tenant bot hook push fcm sas rest admin management mgmt instrumentation x sec ssl tls wallet validator seed activation product serial sdk functions function host routing rapidapi logged nonce",
);
const saltQualifiers = words("auth secure logged nonce");
/** Words that make a `key` or `token` beside them no credential, in front of it. */
const notSecretBefore = words(
  "public primary foreign partition sort cache idempotency row object map unique composite shard range index lookup hot shortcut arrow array json dict translation i18n message event metric group react list item sibling next page continuation cursor pagination csrf xsrf max min total num count prompt completion input output cached reasoning eos bos pad sep unk cls mask special stop start end current syntax lexer parser design css color theme first last previous prev left right any each every per natural surrogate candidate search filter tree hash dedup dedupe s3 redis node locale registry legend answer pub piano musical minor major turn low high sticky whiskey donkey monkey hokey",
);
/** Words that make a name no credential, behind the key word. */
const notSecretAfter = words(
  "hash hashed hashes digest type types name names id ids identifier path paths file files filename filepath dir directory folder url urls uri uris endpoint endpoints length len size count counter max min limit limits budget field fields input inputs label placeholder policy policies rule rules regex pattern format expiry expires expiration expire expired exp ttl age timeout interval date time timestamp at created updated rotation rotated rotate prefix suffix ref refs reference arn env envvar var variable store storage manager service provider providers factory class error errors exception invalid valid validator validation validate required missing visible visibility hidden show toggle reset change changed strength hint hints confirm confirmation mismatch match usage used uses cost price pricing index idx version versions algorithm alg algo cipher mode source status state enabled disabled flag option options config configuration schema model models table column event events handler listener callback fn func function method spec doc docs description desc title message messages msg button link page form screen normalized component props icon color sauce santa keeper less board pair pairs ring rings chain set map mapping list array dict object down up press pressed code codes stroke frame frames bind binding bindings space stone pub fingerprint thumbprint owner scope scopes permission permissions role roles rate per issuer audience grant request response exchange introspection revocation stream mgr realm sha curve details fds depth kind category position offset start end cache encoding transform generator generation auth0 count counts ids lookup miss refreshed authentication protected protection recovery forgotten complexity history attempts attempt usage agent rotation import export ization izer ized izing notes note prompt derivation wrapping stretching iterations iteration rounds salt bits management extension extensions usages ttl path parameter parameters param params header headers location selector value_from valuefrom",
);
/** What `pass` before it is a verb for. */
const passVerbObjects = words("value values through thru on by to along args kwargs down if rate count test fail over");
const passwordNotBefore = words(
  "has is no forgot forgotten reset show hide require requires required invalid wrong missing incorrect bad validate check verify compare hash hashed min max toggle without change changed update updated weak strong confirm",
);

const keyNameCache = new Map<string, KeyName>();
const none: KeyName = { kind: "none", rule: "" };

/** Reads an identifier such as `spring.datasource.password`, `backendApiKey`, `X-Api-Key` or `max_tokens`. */
export function readKeyName(name: string): KeyName {
  let answer = keyNameCache.get(name);
  if (answer === undefined) {
    answer = parseKeyName(name);
    if (keyNameCache.size > 4_096) keyNameCache.clear();
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
      // What signs the tokens of a form is secret, the tokens are not; an account has a primary key, and so has a table.
      if ((last === "csrf" || last === "xsrf") && rule.rule === "secret") return rule;
      return last === "primary" || last === "secondary" ? { kind: "weak", rule: rule.rule } : none;
    }
    return rule;
  }
  return none;
}

/** The words of a name, in small letters: `spring`, `datasource`, `password`. */
export function nameParts(name: string): readonly string[] {
  const parts = name.replaceAll("\xb3", "l").match(/[A-Z]+(?![a-z])|[A-Z]?[a-z\xc0-\xff]+|[0-9]+/g) ?? [];
  return parts.map((part) => part.toLowerCase());
}

function ruleOf(parts: readonly string[], index: number, part: string): KeyName | undefined {
  if (passwordWords.has(part) || compoundPasswordWord.test(part)) return { kind: "password", rule: "password" };
  const before = parts[index - 1];
  switch (part) {
    case "secret":
    case "secrets":
      return { kind: "secret", rule: "secret" };
    case "token":
    case "tok":
      return { kind: "secret", rule: "token" };
    case "key":
    case "keys": {
      if (before === undefined) return { kind: "weak", rule: "api_key" };
      // `AccountKey`, `api key`, `DD_API_KEY`; a vendor's name before `key` is as good as `api`.
      const kind = parts.slice(0, index).some((word) => keyQualifiers.has(word) || vendorWords.has(word))
        ? "secret"
        : "weak";
      return {
        kind,
        rule: before === "private" || before === "secret" || before === "encryption" ? "secret_key" : "api_key",
      };
    }
    case "apikey":
    case "apikeys":
    case "apitoken":
      return { kind: "secret", rule: "api_key" };
    case "salt": // WordPress
      return parts.slice(0, index).some((word) => saltQualifiers.has(word))
        ? { kind: "secret", rule: "secret_key" }
        : undefined;
    case "cookie":
      return before === "erlang" ? { kind: "password", rule: "password" } : undefined;
    case "erlangcookie":
      return { kind: "password", rule: "password" };
    case "credential":
    case "credentials":
    case "creds":
    case "cred":
    case "auth":
      return { kind: "weak", rule: "credential" };
    case "authorization":
    case "bearer":
    case "authtoken":
      return { kind: "secret", rule: "auth_header" };
    default:
      return compoundSecretWord.test(part)
        ? { kind: "secret", rule: part.endsWith("token") ? "token" : "secret_key" }
        : undefined;
  }
}

function words(list: string): ReadonlySet<string> {
  return new Set(list.split(" "));
}
