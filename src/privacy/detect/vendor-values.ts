import { readTable } from "#privacy/rules/tables.ts";
import shapeRows from "#privacy/rules/vendor-shapes.jsonl" with { type: "text" };
import { isBase64Symbol } from "#privacy/text/base64.ts";
import { byteSet, classes, HYPHEN, inName, isKeyCharacter } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { isIdentifierShaped, isRandom, shapeOf } from "./randomness.ts";
import { isSecret } from "./values.ts";

/**
 * The value in a run of token characters that its shape, a mark within it or the name before it gives away as a
 * vendor's, where no token's prefix does. `base64From`, `base64To`: the base64 around the run.
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
  const named = namedValue(normalized, name, from, to, [base64From, base64To]);
  if (named !== undefined || !isPrefixedKey(text.slice(from, Math.min(to, from + 300)))) return named;
  return { start: from, end: to, rule: "prefixed_key" };
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

const awsSecretLength = 40;
const awsIdBefore = /A[KS]IA[A-Z0-9]{16}[^A-Za-z0-9]{1,24}(?:[A-Za-z_ ]{0,32}[^A-Za-z0-9]{1,8})?$/;

const shapes = readTable<{ id: string; mark?: string; shape: string }>(shapeRows);
const vendorShapes = shapes
  .filter(({ mark }) => mark === undefined)
  .map(({ id, shape }) => [id, new RegExp(shape, "y")] as const);
const embeddedMarks = shapes.flatMap(({ id, mark, shape }) =>
  mark === undefined ? [] : [{ rule: id, mark: new RegExp(mark), pattern: new RegExp(shape) }],
);
const anyEmbeddedMark = new RegExp(embeddedMarks.map(({ mark }) => mark.source).join("|"));

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
  if (signatureNames.test(name) && value.length >= (hexText.test(value) ? 40 : 32)) return "url_signature";
  return shortKeyNames.test(name) ? "secret_key" : undefined;
}

const hexText = /^[0-9a-f]+$/i;

/** Names too short to be looked for: `MINIO_SK`, `accessSk`, `azure.pat`. The value decides. */
const shortKeyNames = /(?:^|[_.-])(?:sk|pat|SK|PAT)$|[a-z](?:Sk|SK|Pat|PAT)$|_SALT$|[Aa]pp_?[Cc]ertificate$/;

const signatureNames = /^(?:sig|signature|x-amz-signature|x-goog-signature|x-amz-security-token|hmac)$/i;

/** `acme_live_…`, `xyz-sk-…`, `pat_…`: the common pattern of keys; what is random behind a word that says so. */
const prefixed =
  /^(?!pk[_-]|[a-z0-9]{1,16}[_-]pu?[bk][_-])(?:[a-z][a-z0-9]{0,15}[_-]){0,3}(?:sk|rk|sec|secret|pat|key|apikey|api|token|whsec|live|prod|oauth|priv|private|auth|access|svc|bot|signing|[a-z0-9]{1,20}(?:key|pat|token|secret))[_-]((?:[A-Za-z0-9]{1,12}[_-]){0,2}[A-Za-z0-9]{16,300}(?:[_-][A-Za-z0-9]{4,64}){0,2}|[\w-]{32,300})$/;

function isPrefixedKey(run: string): boolean {
  const body = prefixed.exec(run)?.[1];
  if (body === undefined) return false;
  const shape = shapeOf(body);
  return shape.digits > 0 && isRandom(shape) && !isIdentifierShaped(body, shape);
}
