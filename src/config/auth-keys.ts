import { readText } from "./config-file.ts";
import { type Invalid, type Problem, quoted } from "./problem.ts";

/** The accepted bearer tokens: SHA-256 digest in lower-case hex → label; null when the line has none. */
export type AuthKeys = ReadonlyMap<string, string | null>;

/** Reads `AUTH_KEYS_FILE`: one digest a line, an optional label after white space, `#` comments. Digests are never quoted back. */
export function loadAuthKeys(path: string): { readonly kind: "ok"; readonly keys: AuthKeys } | Invalid {
  const read = readText(path, "AUTH_KEYS_FILE", 4_194_304);
  return read.kind === "ok" ? parseAuthKeys(read.text, path) : read;
}

export function parseAuthKeys(text: string, file: string): { readonly kind: "ok"; readonly keys: AuthKeys } | Invalid {
  const problems: Problem[] = [];
  const keys = new Map<string, string | null>();
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);
  for (const [index, raw] of lines.entries()) {
    const content = raw.trim();
    if (content === "" || content.startsWith("#")) continue;
    const refuse = (message: string, suggestion: string) =>
      void problems.push({ file, path: "", line: index + 1, message, suggestion });
    const [digest = "", ...rest] = content.split(/\s+/);
    const label = rest.join(" ").replace(/^#\s*/, "");
    if (!/^[0-9a-fA-F]{64}$/.test(digest)) {
      const found = `found ${digest.length} characters that are none`;
      refuse(
        `expected a SHA-256 digest of 64 hexadecimal digits, ${found}`,
        'printf %s "$TOKEN" | sha256sum  makes one; never put the token itself here',
      );
    } else if (label.length > 100) refuse(`the label ${quoted(label)} is longer than 100 characters`, "shorten it");
    else if (keys.has(digest.toLowerCase()))
      refuse("this digest stands in the file already", "remove one of the lines");
    else keys.set(digest.toLowerCase(), label === "" ? null : label);
  }
  if (problems.length === 0 && keys.size === 0) {
    const suggestion = "add at least one line, or unset AUTH_KEYS_FILE";
    problems.push({ file, path: "", message: "holds no digest, so that every caller would be refused", suggestion });
  }
  return problems.length > 0 ? { kind: "invalid", problems } : { kind: "ok", keys };
}
