import { vendorRule } from "#privacy/rules/keyed-rules.ts";
import {
  base64End,
  base64Range,
  decodePrintable,
  type EncodedText,
  isBase64Byte,
  printableHexAt,
} from "#privacy/text/base64.ts";
import {
  BACKTICK,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  DOUBLE_QUOTE,
  EQUALS,
  GREATER_THAN,
  HYPHEN,
  LOWER_R,
  PLUS,
  SINGLE_QUOTE,
  SLASH,
  SPACE,
  TILDE,
} from "#privacy/text/bytes.ts";
import { classes, inName, isLower } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { mayBeSecretDocument, messageHeadLength, minDocumentLength, secretDocumentAt } from "./encoded-documents.ts";
import { ReadAhead } from "./read-ahead.ts";
import { joinLiteralsAround } from "./split-literals.ts";
import { hasDigit, type TokenScanner } from "./tokens.ts";
import { isPrefixedKey } from "./values/prefixed-keys.ts";
import { isSecret } from "./values/values.ts";

/** What a public key of SSH begins with. */
const publicKey = /^AAAA(?:B3NzaC1|C3NzaC1|E2VjZHNh)/;
const awsSecretLength = 40;
/** A secret of AWS right behind its id, as in the file its console offers. */
const awsIdBefore = /A[KS]IA[A-Z0-9]{16}[^A-Za-z0-9]{1,24}(?:[A-Za-z_ ]{0,32}[^A-Za-z0-9]{1,8})?$/;
const maxBase64KeyLength = 400;

/** Reads one run of token characters after the other, left to right, and what belongs to it on both sides. */
export class TokenRunScanner {
  /** Base64 that decoded to text; scanned when the normalized text is no longer needed. */
  readonly encoded: EncodedText[] = [];
  readonly #tokens: TokenScanner;
  readonly #disabled: ReadonlySet<string>;
  readonly #ahead: ReadAhead;
  /** Characters that may still be decoded for this text. */
  #decodeBudget = 262_144;
  /** End of the base64 that was looked at last. */
  #base64End = 0;
  #base64Start = 0;
  /** End of the base64 around the `+` or `/` that was visited last. */
  #symbolEnd = 0;

  /** @param length of the text */
  constructor(tokens: TokenScanner, disabled: ReadonlySet<string>, length: number) {
    this.#tokens = tokens;
    this.#disabled = disabled;
    this.#ahead = new ReadAhead(length);
  }

  /** @returns where reading goes on, at least `to` */
  scanRun(normalized: NormalizedText, from: number, to: number, found: Span[]): number {
    if (from >= this.#base64End) {
      const before = found.length;
      const blob = this.#scanBase64(normalized, from, to, found);
      if (blob > to || found.length > before) return blob;
    }
    const count = found.length;
    const end = this.#tokens.scanRun(normalized, from, to, this.#ahead, found);
    const token = found.length > count ? found.at(-1) : undefined;
    const pieces = this.#scanSplitLiteral(normalized, token?.start ?? from, token?.end ?? to, found);
    if (token !== undefined || pieces >= 0) return Math.max(end, pieces);
    if (!this.#disabled.has("auth_header") && this.#scanBearer(normalized, from, to, found)) return to;
    // A long stretch of base64 is data: no vendor's key is that long, and all its runs look alike.
    if (to <= this.#base64End && this.#base64End - this.#base64Start > maxBase64KeyLength) return to;
    if (!hasDigit(normalized.bytes, from, to)) return to;
    this.#scanVendorShapes(normalized, from, to, found);
    return to - from >= 40 && this.#decodeBudget > 0 ? this.#scanHex(normalized, from, to) : to;
  }

  #scanHex(normalized: NormalizedText, from: number, to: number): number {
    const hex = printableHexAt(normalized.text, from, to);
    if (hex === undefined) return to;
    this.#decodeBudget -= hex.lengthRead / 2;
    if (hex.mayHoldSecret) this.encoded.push({ start: from, end: hex.end, text: hex.text, rule: "hex_secret" });
    return hex.end;
  }

  /**
   * Reads the base64 around a `+` or `/` with no run beside it: the first line of a wrapped key may hold one in every 16 characters.
   * @returns where reading goes on, at least `at + 1`
   */
  scanBase64Symbol(normalized: NormalizedText, at: number, found: Span[]): number {
    const { bytes } = normalized;
    // What was read with the last one is not read again, which bounds the time that a text of nothing but these can take.
    const limit = this.#symbolEnd;
    if (at < limit) return at + 1;
    let start = at;
    while (start > limit && isBase64Byte(bytes[start - 1] ?? 0)) start--;
    this.#symbolEnd = at + 1;
    const isContinued = start > 0 && start === limit && isBase64Byte(bytes[start - 1] ?? 0);
    if (isContinued || (!mayBeSecretDocument(bytes, start) && !mayBeSecretDocument(bytes, start + 1))) return at + 1;
    const end = base64End(normalized, at);
    this.#symbolEnd = Math.max(at + 1, end);
    if (end - start < minDocumentLength) return at + 1;
    const document = this.#documentAt(normalized, start, end);
    if (document === undefined) return at + 1;
    found.push(document);
    return Math.max(at + 1, document.end);
  }

  /** A token that goes on in the next literal or line, or began in the one before. Returns its end, or -1. */
  #scanSplitLiteral(normalized: NormalizedText, from: number, to: number, found: Span[]): number {
    const pieces = joinLiteralsAround(normalized, from, to);
    const token = pieces === undefined ? undefined : this.#tokens.matchToken(pieces.text);
    if (pieces === undefined || token === undefined) return -1;
    const end = this.#ahead.tokenEnd(normalized.bytes, pieces.offsetAt(token.length - 1) + 1, false);
    if (end <= to && pieces.start >= from) return -1;
    found.push({ start: pieces.start, end, rule: token.rule });
    return end;
  }

  /** Data that no one reads as text, and text that was encoded. Returns where the data ends. */
  #scanBase64(normalized: NormalizedText, from: number, to: number, found: Span[]): number {
    const { bytes, text } = normalized;
    const before = bytes[from - 1];
    // Identifiers are short and have no base64 symbols beside them: they are skipped.
    if (
      to - from < 20 &&
      before !== SLASH &&
      before !== PLUS &&
      bytes[to] !== EQUALS &&
      bytes[to] !== SLASH &&
      bytes[to] !== PLUS
    )
      return to;
    const [start, end] = base64Range(normalized, from, to);
    this.#base64Start = start;
    this.#base64End = end;
    if (text.startsWith("AAAA", start) && publicKey.test(text.slice(start, start + 16))) return end;
    if (bytes[start - 1] === COMMA && text.startsWith("base64,", start - 7)) {
      const header = text.slice(Math.max(0, start - 80), start);
      if (
        /data:(?!text\/|application\/(?:json|x-yaml|yaml|toml|x-sh))[\w.+-]{1,40}\/[\w.+-]{1,60}[^,\s]{0,40}$/.test(
          header.slice(0, -1),
        )
      )
        return end;
    }
    if (this.#decodeBudget <= 0 || end - start < 24) return to;
    const document = this.#documentAt(normalized, start, end);
    if (document !== undefined && document.end >= to) {
      found.push(document);
      return document.end;
    }
    const decoded = decodePrintable(normalized, start, end);
    if (decoded === undefined) return to;
    this.#decodeBudget -= decoded.length;
    this.encoded.push({ start, end, text: decoded, rule: "base64_secret" });
    return to;
  }

  /** A secret document whose first line is the base64 `[start, end)`. */
  #documentAt(normalized: NormalizedText, start: number, end: number): Span | undefined {
    // The dash of a removed line and the plus of an added one are letters of base64 too.
    const first = mayBeSecretDocument(normalized.bytes, start) ? start : start + 1;
    if (this.#decodeBudget <= 0 || !mayBeSecretDocument(normalized.bytes, first)) return undefined;
    this.#decodeBudget -= messageHeadLength;
    return secretDocumentAt(normalized, first, end);
  }

  /** A value behind `Bearer`, where no `Authorization` stands before it. */
  #scanBearer(normalized: NormalizedText, from: number, to: number, found: Span[]): boolean {
    let start = from;
    while (
      start > 0 &&
      from - start < 24 &&
      normalized.bytes[start - 1] !== SPACE &&
      isKeyCharacter(normalized.bytes[start - 1] ?? 0)
    )
      start--;
    // `Bearer …`, `bearer: …`
    let word = start;
    while (word > start - 3 && isBearerSeparator(normalized.bytes[word - 1] ?? 0)) word--;
    if (word === start || ((normalized.bytes[word - 1] ?? 0) | 0x20) !== LOWER_R) return false;
    if (normalized.text.slice(Math.max(0, word - 6), word).toLowerCase() !== "bearer") return false;
    let end = to;
    while (
      end < normalized.length &&
      (((classes[normalized.bytes[end] ?? 0] ?? 0) & inName) !== 0 || isBase64Symbol(normalized.bytes[end] ?? 0))
    )
      end++;
    if (!isSecret(normalized.text.slice(start, end), "quoted")) return false;
    found.push({ start, end, rule: "auth_header" });
    return true;
  }

  /** Values with their vendor in the name before them, and shapes that only vendors use. */
  #scanVendorShapes(normalized: NormalizedText, from: number, to: number, found: Span[]) {
    const { text, bytes } = normalized;
    const [start, end] = [this.#base64Start, this.#base64End];
    if (
      end - start === awsSecretLength &&
      end >= to &&
      !this.#disabled.has("aws_secret_access_key") &&
      awsIdBefore.test(text.slice(Math.max(0, start - 90), start))
    ) {
      found.push({ start, end, rule: "aws_secret_access_key" });
      return;
    }
    // `T…/B…/…`, the path of a webhook of Slack without its host.
    const path =
      bytes[from - 1] === SLASH && to - from >= 20 ? slackPath.exec(text.slice(Math.max(0, from - 30), from)) : null;
    if (path !== null && !this.#disabled.has("slack_webhook")) {
      found.push({ start: from - path[0].length, end: to, rule: "slack_webhook" });
      return;
    }
    // A removed line of a diff, an item of a list: the dash is no part of what follows.
    const begin = bytes[from] === HYPHEN ? from + 1 : from;
    for (const { rule, pattern } of vendorShapes) {
      pattern.lastIndex = begin;
      if (!pattern.test(text) || this.#disabled.has(rule)) continue;
      found.push({ start: begin, end: Math.max(to, pattern.lastIndex), rule });
      return;
    }
    if (this.#scanEmbeddedMarks(normalized, from, to, found)) return;
    if (isWalletKey(text, begin, to)) {
      found.push({ start: begin, end: to, rule: "wallet_private_key" });
      return;
    }
    // `sig=` precedes the first part of the base64, not the run that is long enough to be scanned.
    const name = nameBefore(
      normalized,
      isBase64Symbol(bytes[from - 1] ?? 0) && start < from && end >= to ? start : from,
    );
    if (name !== "") {
      const [start, end] =
        isBase64Symbol(bytes[to] ?? 0) || isBase64Symbol(bytes[from - 1] ?? 0)
          ? base64Range(normalized, from, to)
          : [from, to];
      const value = text.slice(start, end);
      const rule = ruleOf(name, value, text, from);
      if (
        rule !== undefined &&
        !this.#disabled.has(rule) &&
        (isVendorName(name) || rule === "session_cookie" || rule === "secret_key" || rule === "auth_header") &&
        isSecret(value, "quoted")
      ) {
        found.push({ start, end, rule });
        return;
      }
    }
    if (
      ((classes[bytes[from] ?? 0] ?? 0) & isLower) !== 0 &&
      !this.#disabled.has("prefixed_key") &&
      isPrefixedKey(text.slice(from, Math.min(to, from + 300)), name !== "" && !isVendorName(name)) &&
      !this.#tokens.startsWithDisabledPrefix(normalized, from)
    ) {
      found.push({ start: from, end: to, rule: "prefixed_key" });
    }
  }

  /** Microsoft's keys carry a mark in their middle or near their end. */
  #scanEmbeddedMarks(normalized: NormalizedText, from: number, to: number, found: Span[]): boolean {
    const { bytes, text } = normalized;
    let start = from;
    while (start > 0 && from - start < 44 && isKeyCharacter(bytes[start - 1] ?? 0)) start--;
    let end = to;
    while (end < normalized.length && end - to < 96 && isKeyCharacter(bytes[end] ?? 0)) end++;
    if (end - start < 37) return false;
    const chain = text.slice(start, end);
    if (!anyEmbeddedMark.test(chain)) return false;
    for (const { rule, mark, pattern } of embeddedMarks) {
      if (!mark.test(chain)) continue;
      const match = pattern.exec(chain);
      if (match === null || this.#disabled.has(rule)) continue;
      found.push({ start: start + match.index, end: Math.max(to, start + match.index + match[0].length), rule });
      return true;
    }
    return false;
  }
}

const slackPath = /\bT[A-Z0-9]{8,12}\/B[A-Z0-9]{8,12}\/$/;

const vendorShapes: readonly { readonly rule: string; readonly pattern: RegExp }[] = [
  { rule: "mailchimp_key", pattern: /[a-f0-9]{32}-us\d{1,2}(?![\w-])/y },
  { rule: "mailgun_key", pattern: /[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}(?![\w-])/y },
  { rule: "deepl_api_key", pattern: /[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}:fx(?![\w-])/y },
  { rule: "fal_key", pattern: /[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}:[a-f0-9]{32}(?![\w-])/y },
  {
    rule: "infobip_key",
    pattern: /[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}(?![\w-])/y,
  },
  { rule: "maxmind_key", pattern: /[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?![\w-])/y },
  { rule: "ngrok_authtoken", pattern: /2[A-Za-z0-9]{26}_[A-Za-z0-9]{21,22}(?![\w-])/y },
  { rule: "azure_devops_token", pattern: /[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![\w-])/y },
  { rule: "newrelic_license_key", pattern: /[a-f0-9]{30,40}(?:FFFF)?NRAL(?![\w-])/y },
  { rule: "rapidapi_key", pattern: /[a-f0-9]{10}msh[a-f0-9]{15}p1[a-f0-9]{6}jsn[a-f0-9]{12}(?![\w-])/y },
  { rule: "ghost_admin_key", pattern: /[a-f0-9]{24}:[a-f0-9]{64}(?![\w-])/y },
  {
    rule: "zhipu_key",
    pattern: /[a-f0-9]{32}\.(?=[A-Za-z0-9]{0,15}[A-Z])(?=[A-Za-z0-9]{0,15}[a-z])[A-Za-z0-9]{16}(?![\w-])/y,
  },
];

const embeddedMarks: readonly { readonly rule: string; readonly mark: RegExp; readonly pattern: RegExp }[] = [
  { rule: "azure_client_secret", mark: /Q~/, pattern: /[\w~.-]{3}\dQ~[\w~.-]{31,34}/ },
  { rule: "terraform_cloud_token", mark: /\.atlasv1\./, pattern: /[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70}/ },
  {
    rule: "azure_key",
    mark: /JQQJ99|ACOG|AzSe|AzFu|AzCa|AzEG|\+ACR|APIM|ACDb|\+A(?:Ba|MC|St|Sb|Eh|Rm)|AIoT/,
    pattern:
      /[A-Za-z0-9]{30,40}JQQJ99[A-Za-z0-9]{30,50}|[A-Za-z0-9]{42}AzSe[A-Za-z0-9]{6}|[\w-]{44}AzFu[\w-]{6}==|[A-Za-z0-9]{33}AzCa[A-Za-z0-9]{6}=|[A-Za-z0-9+/]{42}\+ACR[A-Za-z0-9+/]{6}|[A-Za-z0-9+/]{76}(?:APIM|ACDb|\+A(?:Ba|MC|St))[A-Za-z0-9+/]{6}==|[A-Za-z0-9+/]{33}(?:AIoT|AzEG|\+A(?:Sb|Eh|Rm))[A-Za-z0-9+/]{6}=|[A-Za-z0-9]{76}ACOG[A-Za-z0-9]{4}/,
  },
];

const anyEmbeddedMark = /Q~|atlasv1|JQQJ99|ACOG|AzSe|AzFu|AzCa|AzEG|APIM|ACDb|AIoT|\+A[A-Z][a-zRC]/;

function isKeyCharacter(c: number): boolean {
  return ((classes[c] ?? 0) & inName) !== 0 || c === TILDE || c === PLUS || c === SLASH || c === EQUALS;
}

function isBearerSeparator(c: number): boolean {
  return c === SPACE || c === COLON || c === EQUALS;
}

function isBase64Symbol(c: number): boolean {
  return c === PLUS || c === SLASH || c === EQUALS;
}

/** The name that an assignment right before a value gives it. */
function nameBefore(normalized: NormalizedText, from: number): string {
  const { bytes } = normalized;
  const limit = Math.max(0, from - 100);
  let at = from;
  while (at > limit && isQuoteOrSpace(bytes[at - 1] ?? 0)) at--;
  const separator = bytes[at - 1];
  if (separator === GREATER_THAN && bytes[at - 2] === EQUALS)
    at -= 2; // =>
  else if (separator === EQUALS || separator === COLON)
    at -= bytes[at - 2] === COLON ? 2 : 1; // = : :=
  else return "";
  while (at > limit && (isQuoteOrSpace(bytes[at - 1] ?? 0) || bytes[at - 1] === CLOSE_BRACKET)) at--;
  const end = at;
  while (at > limit && ((classes[bytes[at - 1] ?? 0] ?? 0) & inName) !== 0) at--;
  return end > at ? normalized.text.slice(at, end) : "";
}

function isQuoteOrSpace(c: number): boolean {
  return c === SPACE || c === DOUBLE_QUOTE || c === SINGLE_QUOTE || c === BACKTICK;
}

/** The rule of a value that stands behind a name which is no word for a secret. */
function ruleOf(name: string, value: string, text: string, at: number): string | undefined {
  // Shorter hex is the sum of something.
  if (isSignature(name) && value.length >= (hexText.test(value) ? 40 : 32)) return "url_signature";
  if (sessionNames.test(name)) return "session_cookie";
  if (
    /^(?:d|p|q|dp|dq|qi|k)$/.test(name) &&
    value.length >= 20 &&
    text.slice(Math.max(0, at - 600), at + 600).includes('"kty"')
  )
    return "jwk_private_key";
  // What answers a challenge says who has the password, and can be tried against it.
  if (
    name === "response" &&
    /^[a-f0-9]{32,64}$/.test(value) &&
    /\bdigest\b/i.test(text.slice(Math.max(0, at - 600), at))
  )
    return "auth_header";
  return vendorRule(name, value) ?? (shortKeyNames.test(name) ? "secret_key" : undefined);
}

const hexText = /^[0-9a-f]+$/i;

/** Names too short to be looked for: `MINIO_SK`, `accessSk`, `azure.pat`. The value decides. */
const shortKeyNames = /(?:^|[_.-])(?:sk|pat|SK|PAT)$|[a-z](?:Sk|SK|Pat|PAT)$|_SALT$|[Aa]pp_?[Cc]ertificate$/;

/** What stands before the private key of a wallet. */
const walletBefore =
  /(?:[Ww]allet|[Pp]riv(?:ate)?[_ -]?[Kk]ey(?:ToAccount|_to_account)?|PRIVATE_KEY|importprivkey|fromPrivateKey|from_key|fromSecretKey|from_base58_string|Keypair|Account)["'`]?(?:[ \t]{0,2}[(=:]|[ \t]|\.\w{1,24}\()[ \t]{0,2}["'`]?(?:bs58\.decode\(["'`])?(?:0x)?$/;
const walletKey = /(?:0x)?[0-9a-fA-F]{64}(?![\w-])|[1-9A-HJ-NP-Za-km-z]{85,88}(?![\w-])/y;

/** 32 bytes in hex, or 64 in base58, behind a word for a wallet or a private key. */
function isWalletKey(text: string, from: number, to: number): boolean {
  if (to - from < 64 || to - from > 88) return false;
  walletKey.lastIndex = from;
  if (!walletKey.test(text)) return false;
  return walletBefore.test(text.slice(Math.max(0, from - 64), from));
}

const sessionNames =
  /^(?:PHPSESSID|JSESSIONID|ASP\.NET_SessionId|connect\.sid|sessionid|laravel_session|_gitlab_session|_session_id)$/i;

function isSignature(name: string): boolean {
  return /^(?:sig|signature|x-amz-signature|x-goog-signature|x-amz-security-token|hmac)$/i.test(name);
}

/** Names that give an address, an id or a sum of something are no place for a secret, whoever made it. */
function isVendorName(name: string): boolean {
  return !/(?:^|[_.-]|[a-z])(?:ids?|uid|uuid|guid|url|uri|host|hash|sha\d*|digest|checksum|commit|version|name|etag|md5|path|image|tag|ref|rev|revision|account|zone|org|trace|span|request|session)$/i.test(
    name,
  );
}
