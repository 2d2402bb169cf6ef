import { byteSet, classes, inToken, isQuote, matchAt } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { CandidateValue } from "./value-reader.ts";

/**
 * Names and values that stand apart: a member that names something (`name`, `Key`, the key of an object) governs the
 * member of the same object that holds it (`value`, `SecretString`), in JSON, YAML, HCL, XML and the arguments of a
 * call.
 */
const nameMember = /^(?:name|key|id|var|variable|parameter_?(?:key|name)|output_?key|setting|header|field|property)$/i;
const valueMember =
  /^(?:[a-z]\w{0,12}?_?value|value|val|data|content|computed|plain_?text|(?:secret_?)?string|default|raw)$/i;

/** How much of an object is read for the value of a name in it, in either direction. */
const maxDistance = 1_024;

/** A member's key and what follows it, a string, a bracket, the beginning of a line, or anything else. */
const part =
  /(["']?)([A-Za-z_][\w-]{0,40})\1[ \t]{0,40}(?:=>?|:(?!:)|>)[ \t]{0,40}|"[^"\n]{0,1024}"|'[^'\n]{0,1024}'|[{}[\]()]|\n[ \t]{0,64}|[\w.-]{1,80}|[^\w\n"'{}[\]()]{1,80}|["']/y;
/** What reading a part takes beside its characters, in characters. */
const partCost = 8;
/** The key of a member, right before its value: `"name": "`, `Name = `, `<key>`. */
const keyBefore = /(?<![\w/])([A-Za-z_]\w{0,24})["']?[ \t]{0,4}(?:=>|[:=>])[ \t]{0,20}["']?$/;
/** What may stand between it and the value; what it ends in. */
const isLeadToValue = byteSet(" \t\"'");
const endsKey = byteSet(":=>");
const tagBefore = /<(?!\/)[^<>\n]{0,160}$/;
const inPath = byteSet("/.-_").map((is, c) => is || (classes[c] ?? 0) & inToken);

/** Reads the value that begins at a place, if it is a secret. */
type ReadValue = (at: number) => CandidateValue | undefined;

/** The value that belongs to a name which is itself the value of a member such as `name`. */
export function valueBesideName(
  normalized: NormalizedText,
  from: number,
  to: number,
  read: ReadValue,
): CandidateValue | undefined {
  const { bytes, text } = normalized;
  let start = from;
  while (start > 0 && from - start < 120 && inPath[bytes[start - 1] ?? 0] !== 0) start--;
  let mark = start;
  while (mark > 0 && start - mark < 24 && isLeadToValue[bytes[mark - 1] ?? 0] === 1) mark--;
  if (endsKey[bytes[mark - 1] ?? 0] !== 1) return undefined;
  const before = text.slice(Math.max(0, start - 60), start);
  const found = keyBefore.exec(before);
  const key = found?.[1] ?? "";
  if (found === null || !nameMember.test(key)) return undefined;
  const keyAt = start - before.length + found.index;
  let limit = Math.min(text.length, to + maxDistance);
  if (found[0].includes("=") && tagBefore.test(text.slice(Math.max(0, keyAt - 160), keyAt))) {
    const tagEnd = text.slice(to, limit).indexOf(">");
    if (tagEnd >= 0) limit = to + tagEnd;
  }
  const value = valueIn(normalized, isQuote(bytes[to] ?? 0) ? to + 1 : to, limit, indentationOf(text, keyAt), read);
  if (value !== undefined) return value;
  const open = openingBrace(text, from);
  return open < 0 ? undefined : valueIn(normalized, open + 1, keyAt, -1, read);
}

/** The value in an object whose key is a name: `"db_password": {"sensitive": true, "value": …`. */
export function valueInObject(normalized: NormalizedText, openAt: number, read: ReadValue): CandidateValue | undefined {
  return valueIn(normalized, openAt + 1, Math.min(normalized.length, openAt + maxDistance), -1, read);
}

/** @param indentation of the name: a line with less, or another name, ends the object; -1 where neither does */
function valueIn(
  { text, budget }: NormalizedText,
  from: number,
  to: number,
  indentation: number,
  read: ReadValue,
): CandidateValue | undefined {
  let depth = 0;
  let next = from;
  for (let at = from; at < to && budget.objects > 0; at = next) {
    const found = matchAt(part, text, at);
    if (found === undefined) return undefined;
    next = part.lastIndex;
    budget.objects -= next - at + partCost;
    const [whole, , key] = found;
    if (key !== undefined) {
      if (depth > 0 || text[at - 1] === "/") continue;
      const value = valueMember.test(key) ? read(next) : undefined;
      if (value !== undefined) return value;
      if (indentation >= 0 && nameMember.test(key)) return undefined;
    } else if (whole === "{" || whole === "[" || whole === "(") depth++;
    else if (whole === "}" || whole === "]" || whole === ")") {
      if (--depth < 0) return undefined;
    } else if (whole[0] === "\n" && depth === 0 && whole.length <= indentation && !/\s/.test(text.charAt(next)))
      return undefined;
  }
  return undefined;
}

/** The column of a key at the beginning of its line, or behind the dash of a list's item; 0 of any other. */
function indentationOf(text: string, keyAt: number): number {
  const before = text.slice(Math.max(0, keyAt - 80), keyAt);
  const line = before.slice(before.lastIndexOf("\n") + 1);
  return /^[ \t]*(?:-[ \t]+)?["'(]?$/.test(line) ? line.replace(/["'(]$/, "").length : 0;
}

/** Where the object begins that a place is in; -1 where none does, seen at once in nearly all texts. */
function openingBrace(text: string, from: number): number {
  const before = text.slice(Math.max(0, from - maxDistance), from);
  let depth = 0;
  for (let at = before.lastIndexOf("{"); at >= 0; at = at === 0 ? -1 : before.lastIndexOf("{", at - 1)) {
    // So many objects ended between this brace and the place or the next brace.
    const next = before.indexOf("{", at + 1);
    depth += before.slice(at, next < 0 ? undefined : next).split("}").length - 1;
    if (depth === 0) return from - before.length + at;
    depth--;
  }
  return -1;
}
