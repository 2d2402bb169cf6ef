import { z } from "zod";
import type { CallerKey } from "#domain/chat.ts";
import { parseUsd } from "#domain/money/money.ts";
import { readText } from "./config-file.ts";
import { type Invalid, nearest, type Problem, quoted } from "./problem.ts";

/** The accepted bearer tokens: SHA-256 digest in lower-case hex → what is said of it; null where it has no label. */
export type AuthKeys = ReadonlyMap<string, CallerKey | null>;

type ReadKeys = { readonly kind: "ok"; readonly value: AuthKeys };

/** The digest by which a token is known. */
export function tokenDigest(token: string): string {
  return new Bun.CryptoHasher("sha256").update(token).digest("hex");
}

/**
 * Reads `AUTH_KEYS_FILE`. A line has a digest, then an optional label and fields (`day_hard_usd=N`, `rpm=N`,
 * `expires=DATE`), all with white space between; `#` begins a comment. Digests are never quoted back.
 */
export function loadAuthKeys(path: string): ReadKeys | Invalid {
  const read = readText(path, "AUTH_KEYS_FILE", 4_194_304);
  return read.kind === "ok" ? parseAuthKeys(read.text, path) : read;
}

/** Each field: its value, undefined where the text is none, and how it is written. */
const fields = {
  day_hard_usd: [(text: string) => parseUsd(text, "down"), "an amount in USD, such as 2.50"],
  rpm: [
    (text: string) => (/^[1-9]\d{0,6}$/.test(text) ? Number(text) : undefined),
    "a whole number of requests a minute",
  ],
  expires: [endOfDayMs, "a UTC day as YYYY-MM-DD, the last on which the token is accepted"],
} as const;
type Field = keyof typeof fields;
const fieldNames = Object.keys(fields) as Field[]; // its own keys

export function parseAuthKeys(text: string, file: string): ReadKeys | Invalid {
  const problems: Problem[] = [];
  const keys = new Map<string, CallerKey | null>();
  const labels = new Map<string, CallerKey>();
  for (const [index, raw] of text
    .replace(/^\uFEFF/, "")
    .split(/\r\n|\n|\r/)
    .entries()) {
    const content = raw.trim();
    if (content === "" || content.startsWith("#")) continue;
    const refuse = (message: string, suggestion: string) =>
      void problems.push({ file, path: "", line: index + 1, message, suggestion });
    // What follows the digest at once is a label, also behind `#`.
    const [digest = "", ...rest] = content.replace(/^(\S+\s+)#\s*/, "$1").split(/\s+/);
    const comment = rest.findIndex((word) => word.startsWith("#"));
    const read = readWords(comment < 0 ? rest : rest.slice(0, comment));
    if (!/^[0-9a-fA-F]{64}$/.test(digest)) {
      const found = `found ${digest.length} characters that are none`;
      refuse(
        `expected a SHA-256 digest of 64 hexadecimal digits, ${found}`,
        'printf %s "$TOKEN" | sha256sum  makes one; never put the token itself here',
      );
    } else if (keys.has(digest.toLowerCase()))
      refuse("this digest stands in the file already", "remove one of the lines");
    else if ("message" in read) refuse(read.message, read.suggestion);
    else {
      const { key } = read;
      const first = key === null ? undefined : labels.get(key.label);
      if (first !== undefined && (first.dayHard !== key?.dayHard || first.rpm !== key?.rpm))
        refuse(`the label ${quoted(first.label)} has another cap or rate on an earlier line`, "they share one account");
      keys.set(digest.toLowerCase(), key);
      if (key !== null) labels.set(key.label, key);
    }
  }
  if (problems.length === 0 && keys.size === 0) {
    const suggestion = "add at least one line, or unset AUTH_KEYS_FILE";
    problems.push({ file, path: "", message: "holds no digest, so that every caller would be refused", suggestion });
  }
  return problems.length > 0 ? { kind: "invalid", problems } : { kind: "ok", value: keys };
}

/** What stands behind a digest. A mistyped field must not become a part of the label: the key would have no cap. */
function readWords(words: readonly string[]): { readonly key: CallerKey | null } | Wrong {
  const labelWords: string[] = [];
  const found: Partial<Record<Field, number>> = {};
  for (const word of words) {
    const [, name = "", separator = "", value = ""] = /^([^=:]*)([=:]?)(.*)$/s.exec(word) ?? [];
    const field = fieldNames.find((known) => known === name);
    if (field === undefined || separator !== "=") {
      const meant = field ?? nearest(name, separator === "" ? ["day_hard_usd"] : fieldNames);
      if (separator === "=" || meant !== undefined) {
        const known = `known are ${fieldNames.join(", ")}`;
        return wrong(`${quoted(name)} is no field of a key`, meant ? `write it as ${meant}=…, without spaces` : known);
      }
      labelWords.push(word);
      continue;
    }
    const [parse, form] = fields[field];
    const parsed = parse(value);
    if (parsed === undefined) return wrong(`${field}= must be ${form}; is ${quoted(value)}`, "correct it");
    if (field in found) return wrong(`${field}= stands twice in this line`, "remove one of them");
    found[field] = parsed;
  }
  // It names an account of the ledger, which has no white space.
  const label = labelWords.join("-");
  const { day_hard_usd: dayHard, rpm, expires: expiresMs } = found;
  if (label.length > 100) return wrong(`the label ${quoted(label)} is longer than 100 characters`, "shorten it");
  if (label === "" && Object.keys(found).length > 0)
    return wrong("a cap, a rate or an end needs a label before it", "write a label behind the digest");
  return { key: label === "" ? null : callerKey(label, { dayHard, rpm, expiresMs }) };
}

type Wrong = Pick<Required<Problem>, "message" | "suggestion">;
const wrong = (message: string, suggestion: string): Wrong => ({ message, suggestion });

/** A key without the members that it has not. */
export function callerKey(
  label: string,
  limits: { readonly [N in "dayHard" | "rpm" | "expiresMs"]?: number | undefined },
): CallerKey {
  const given = Object.entries(limits).filter(([, value]) => value !== undefined);
  return { label, ...Object.fromEntries(given) }; // amounts come from `parseUsd`
}

/** The end of a UTC day, in milliseconds since the epoch. */
export function endOfDayMs(text: string): number | undefined {
  return z.iso.date().safeParse(text).success ? Date.parse(`${text}T00:00:00Z`) + 86_400_000 : undefined;
}
