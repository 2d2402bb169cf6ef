import { isBase64Symbol } from "#privacy/text/base64.ts";
import { byteSet, classes, HYPHEN, inName, isKeyCharacter } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { isIdentifierShaped, isRandom, shapeOf } from "./randomness.ts";
import { isSecret } from "./values.ts";

/**
 * The value in a run of token characters that its shape, a mark within it or the name before it gives away as a vendor's, where no token's
 * prefix does.
 * @param base64From where the base64 around the run begins
 * @param base64To where it ends
 */
export function vendorValueIn(
  normalized: NormalizedText,
  from: number,
  to: number,
  base64From: number,
  base64To: number,
): Span | undefined {
  const { text, bytes } = normalized;
  // A removed line of a diff, an item of a list: the dash is no part of what follows.
  const begin = bytes[from] === HYPHEN ? from + 1 : from;
  const shaped =
    awsSecret(text, to, base64From, base64To) ?? vendorShape(text, begin, to) ?? markedValue(normalized, from, to);
  if (shaped !== undefined) return shaped;
  // `sig=` precedes the first part of the base64, not the run that is long enough to be scanned.
  const isContinued = isBase64Symbol(bytes[from - 1] ?? 0) && base64From < from && base64To >= to;
  const name = nameBefore(normalized, isContinued ? base64From : from);
  return namedValue(normalized, name, from, to, [base64From, base64To]) ?? prefixedKey(normalized, name, from, to);
}

/** A secret of AWS right behind its id, as in the file its console offers. */
function awsSecret(text: string, to: number, base64From: number, base64To: number): Span | undefined {
  if (base64To - base64From !== awsSecretLength || base64To < to) return undefined;
  if (!awsIdBefore.test(text.slice(Math.max(0, base64From - 90), base64From))) return undefined;
  return { start: base64From, end: base64To, rule: "aws_secret_access_key" };
}

function vendorShape(text: string, from: number, to: number): Span | undefined {
  for (const [rule, pattern] of vendorShapes) {
    pattern.lastIndex = from;
    if (pattern.test(text)) return { start: from, end: Math.max(to, pattern.lastIndex), rule };
  }
  return undefined;
}

/** Microsoft's keys and some others carry a mark in their middle or near their end. */
function markedValue({ bytes, text, length }: NormalizedText, from: number, to: number): Span | undefined {
  let start = from;
  while (start > 0 && from - start < 44 && isKeyCharacter(bytes[start - 1] ?? 0)) start--;
  let end = to;
  while (end < length && end - to < 96 && isKeyCharacter(bytes[end] ?? 0)) end++;
  if (end - start < 37) return undefined;
  const chain = text.slice(start, end);
  if (!anyEmbeddedMark.test(chain)) return undefined;
  for (const { rule, mark, pattern } of embeddedMarks) {
    const match = mark.test(chain) ? pattern.exec(chain) : null;
    if (match !== null)
      return { start: start + match.index, end: Math.max(to, start + match.index + match[0].length), rule };
  }
  return undefined;
}

/** A value whose name says what it is, although it has no word for a secret. */
function namedValue(
  { text, bytes }: NormalizedText,
  name: string,
  from: number,
  to: number,
  base64: readonly [number, number],
): Span | undefined {
  if (name === "") return undefined;
  const [start, end] = isBase64Symbol(bytes[to] ?? 0) || isBase64Symbol(bytes[from - 1] ?? 0) ? base64 : [from, to];
  const value = text.slice(start, end);
  const rule = ruleOf(name, value);
  return rule !== undefined && isSecret(value, "quoted") ? { start, end, rule } : undefined;
}

function prefixedKey({ text }: NormalizedText, name: string, from: number, to: number): Span | undefined {
  const isNamed = name !== "" && !isVendorName(name);
  return isPrefixedKey(text.slice(from, Math.min(to, from + 300)), isNamed)
    ? { start: from, end: to, rule: "prefixed_key" }
    : undefined;
}

const awsSecretLength = 40;
const awsIdBefore = /A[KS]IA[A-Z0-9]{16}[^A-Za-z0-9]{1,24}(?:[A-Za-z_ ]{0,32}[^A-Za-z0-9]{1,8})?$/;

// biome-ignore format: one shape a line, so that the list reads as a table
const vendorShapes: readonly (readonly [rule: string, pattern: RegExp])[] = [
  ["mailchimp_key", /[a-f0-9]{32}-us\d{1,2}(?![\w-])/y],
  ["mailgun_key", /[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}(?![\w-])/y],
  ["deepl_api_key", /[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}:fx(?![\w-])/y],
  ["fal_key", /[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}:[a-f0-9]{32}(?![\w-])/y],
  ["infobip_key", /[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}(?![\w-])/y],
  ["maxmind_key", /[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?![\w-])/y],
  ["ngrok_authtoken", /2[A-Za-z0-9]{26}_[A-Za-z0-9]{21,22}(?![\w-])/y],
  ["azure_devops_token", /[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![\w-])/y],
  ["newrelic_license_key", /[a-f0-9]{30,40}(?:FFFF)?NRAL(?![\w-])/y],
  ["rapidapi_key", /[a-f0-9]{10}msh[a-f0-9]{15}p1[a-f0-9]{6}jsn[a-f0-9]{12}(?![\w-])/y],
  ["ghost_admin_key", /[a-f0-9]{24}:[a-f0-9]{64}(?![\w-])/y],
  ["zhipu_key", /[a-f0-9]{32}\.(?=[A-Za-z0-9]{0,15}[A-Z])(?=[A-Za-z0-9]{0,15}[a-z])[A-Za-z0-9]{16}(?![\w-])/y],
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

/** The name that an assignment right before a value gives it. */
function nameBefore({ bytes, text }: NormalizedText, from: number): string {
  let at = from;
  while (at > from - 100 && aroundSeparator[bytes[at - 1] ?? 0] === 1) at--;
  const separator = text.charAt(at - 1);
  if (separator === ">" && text.charAt(at - 2) === "=")
    at -= 2; // =>
  else if (separator === "=" || separator === ":")
    at -= text.charAt(at - 2) === ":" ? 2 : 1; // = : :=
  else return "";
  while (at > from - 100 && (aroundSeparator[bytes[at - 1] ?? 0] === 1 || text.charAt(at - 1) === "]")) at--;
  const end = at;
  while (at > from - 100 && ((classes[bytes[at - 1] ?? 0] ?? 0) & inName) !== 0) at--;
  return text.slice(Math.max(0, at), Math.max(0, end));
}

const aroundSeparator = byteSet(" \"'`");

/** The rule of a value that stands behind a name which is no word for a secret. */
function ruleOf(name: string, value: string): string | undefined {
  // Shorter hex is the sum of something.
  if (isSignature(name) && value.length >= (hexText.test(value) ? 40 : 32)) return "url_signature";
  return shortKeyNames.test(name) ? "secret_key" : undefined;
}

const hexText = /^[0-9a-f]+$/i;

/** Names too short to be looked for: `MINIO_SK`, `accessSk`, `azure.pat`. The value decides. */
const shortKeyNames = /(?:^|[_.-])(?:sk|pat|SK|PAT)$|[a-z](?:Sk|SK|Pat|PAT)$|_SALT$|[Aa]pp_?[Cc]ertificate$/;

function isSignature(name: string): boolean {
  return /^(?:sig|signature|x-amz-signature|x-goog-signature|x-amz-security-token|hmac)$/i.test(name);
}

/** Names that give an address, an id or a sum of something are no place for a secret, whoever made it. */
function isVendorName(name: string): boolean {
  return !/(?:^|[_.-]|[a-z])(?:ids?|uid|uuid|guid|url|uri|host|hash|sha\d*|digest|checksum|commit|version|name|etag|md5|path|image|tag|ref|rev|revision|account|zone|org|trace|span|request|session)$/i.test(
    name,
  );
}

const prefixed =
  /^([a-z][a-z0-9]{1,15})([_-])((?:[a-z0-9]{1,12}\2){0,3})([A-Za-z0-9]{16,}(?:[_-][A-Za-z0-9]{4,}){0,2})$/;
/** Vendor words that show a secret key; below, words that do so after a vendor's name. */
const secretVendorWord = /^(?:sk|rk|secret|pat|key|apikey|tok|token|whsec|[a-z0-9]+(?:key|pat|token|secret))$/;
const secretMiddleWord =
  /^(?:sk|rk|sec|secret|pat|key|apikey|api|tok|token|live|prod|oauth|priv|private|auth|access|at|rt|svc|bot|signing)$/;

/** Beginnings of ids, sums and names that nobody keeps secret, whatever follows. */
const publicPrefixes =
  /^(?:sha\d+|md5|h1|nonce|sig|hash|cs|ch|pi|seti|sub|cus|evt|acct|price|prod|req|resp|msg|run|step|call|toolu|chatcmpl|cmpl|gen|file|asst|thread|item|batch|ft|rs|fc|ws|org|proj|user|usr|chunk|index|main|build|css|img|id|uid|obj|doc|page|session|trace|span|task|job|event|video|image|upload|blob|pk|pub|public|phc|ca)$/;

const longKey = /^(?:[a-z]{2,12}_)?(?:sk|pat|tok|token|key|secret)[_-]([\w-]{32,300})$/;

/** `pat_…`, `xyz_sk_…` with dashes and underscores in what follows. */
function isLongKey(run: string): boolean {
  const body = longKey.exec(run)?.[1];
  if (body === undefined) return false;
  const { length, digits, upper, lower, classChanges } = shapeOf(body);
  return digits >= 4 && upper >= 4 && lower >= 4 && classChanges * 3 >= length;
}

/**
 * `vendor_live_…`, `xyz-sk-…`: the common pattern of keys, for any vendor.
 * @param namedId whether the name beside it says that it is an id
 */
function isPrefixedKey(run: string, namedId: boolean): boolean {
  const match = prefixed.exec(run);
  if (match === null) return isLongKey(run);
  const [, vendor = "", separator = "", middle = "", body = ""] = match;
  const words = middle.split(separator);
  if (vendor === "pk" || words.includes("pk") || words.includes("pub")) return false; // meant to be seen
  const shape = shapeOf(body);
  if (secretVendorWord.test(vendor) || words.some((word) => secretMiddleWord.test(word)))
    return shape.digits > 0 && isRandom(shape) && !isIdentifierShaped(body, shape);
  // Without such a word, only what no id is: long, and drawn from capitals, small letters and digits alike.
  if (namedId || middle !== "" || vendor.length > 12 || publicPrefixes.test(vendor)) return false;
  const { length, digits, upper, lower, classChanges } = shape;
  return (
    length >= (separator === "_" ? 32 : 36) &&
    digits >= 1 &&
    upper >= 5 &&
    lower >= 5 &&
    classChanges * 3 >= length &&
    isRandom(shape) &&
    !isIdentifierShaped(body, shape)
  );
}
