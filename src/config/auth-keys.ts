import type { CallerKey } from "#domain/chat.ts";
import { parseUsd } from "#domain/money/money.ts";
import { readText } from "./config-file.ts";
import { type Invalid, type Problem, quoted } from "./problem.ts";

/** The accepted bearer tokens: SHA-256 digest in lower-case hex → what its line says of it; null where it has no label. */
export type AuthKeys = ReadonlyMap<string, CallerKey | null>;

/**
 * Reads `AUTH_KEYS_FILE`. A line has a digest, then an optional label, then an optional `day_hard_usd=N`, all with white space
 * between; `#` begins a comment. Digests are never quoted back.
 */
export function loadAuthKeys(path: string): { readonly kind: "ok"; readonly keys: AuthKeys } | Invalid {
  const read = readText(path, "AUTH_KEYS_FILE", 4_194_304);
  return read.kind === "ok" ? parseAuthKeys(read.text, path) : read;
}

export function parseAuthKeys(text: string, file: string): { readonly kind: "ok"; readonly keys: AuthKeys } | Invalid {
  const problems: Problem[] = [];
  const keys = new Map<string, CallerKey | null>();
  const capOf = new Map<string, string>();
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
    const words = comment < 0 ? rest : rest.slice(0, comment);
    const cap = words.at(-1)?.startsWith(capName) ? words.pop()?.slice(capName.length) : undefined;
    // It names an account of the ledger, which has no white space.
    const label = words.join("-");
    const dayHard = cap === undefined ? undefined : parseUsd(cap, "down");
    if (!/^[0-9a-fA-F]{64}$/.test(digest)) {
      const found = `found ${digest.length} characters that are none`;
      refuse(
        `expected a SHA-256 digest of 64 hexadecimal digits, ${found}`,
        'printf %s "$TOKEN" | sha256sum  makes one; never put the token itself here',
      );
    } else if (keys.has(digest.toLowerCase()))
      refuse("this digest stands in the file already", "remove one of the lines");
    else if (label.length > 100) refuse(`the label ${quoted(label)} is longer than 100 characters`, "shorten it");
    else if (cap !== undefined && dayHard === undefined)
      refuse(`${capName} must be an amount in USD; is ${quoted(cap)}`, `write it as ${capName}2.50`);
    else if (cap !== undefined && label === "")
      refuse(`${capName} needs a label before it: the account is named after it`, "write a label between the two");
    else if ((capOf.get(label) ?? cap ?? "") !== (cap ?? ""))
      refuse(`the label ${quoted(label)} has another ${capName} on an earlier line`, "they share one account");
    else {
      keys.set(digest.toLowerCase(), label === "" ? null : { label, ...(dayHard === undefined ? {} : { dayHard }) });
      if (label !== "") capOf.set(label, cap ?? "");
    }
  }
  if (problems.length === 0 && keys.size === 0) {
    const suggestion = "add at least one line, or unset AUTH_KEYS_FILE";
    problems.push({ file, path: "", message: "holds no digest, so that every caller would be refused", suggestion });
  }
  return problems.length > 0 ? { kind: "invalid", problems } : { kind: "ok", keys };
}

const capName = "day_hard_usd=";
