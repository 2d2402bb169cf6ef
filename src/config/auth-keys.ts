import { readFileSync } from "node:fs";
import { type Invalid, type Problem, quoted } from "./problem.ts";

/** The accepted bearer tokens: SHA-256 digest in lower-case hex → label; null when the line has none. */
export type AuthKeys = ReadonlyMap<string, string | null>;

const maxFileBytes = 4_194_304;

/** Reads `AUTH_KEYS_FILE`: one digest a line, an optional label after white space, `#` comments. Digests are never quoted back. */
export function loadAuthKeys(path: string): { readonly kind: "ok"; readonly keys: AuthKeys } | Invalid {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const problem = {
      file: path,
      path: "",
      message: `cannot be read: ${codeOf(error)}`,
      suggestion: "check AUTH_KEYS_FILE",
    };
    return { kind: "invalid", problems: [problem] };
  }
  if (bytes.length > maxFileBytes) {
    const problem = {
      file: path,
      path: "",
      message: `is larger than ${maxFileBytes} bytes: this is no list of digests`,
    };
    return { kind: "invalid", problems: [problem] };
  }
  return parseAuthKeys(bytes.toString("utf8"), path);
}

export function parseAuthKeys(text: string, file: string): { readonly kind: "ok"; readonly keys: AuthKeys } | Invalid {
  const problems: Problem[] = [];
  const keys = new Map<string, string | null>();
  text
    .replace(/^\uFEFF/, "")
    .split(/\r\n|\n|\r/)
    .forEach((raw, index) => {
      const content = raw.trim();
      if (content === "" || content.startsWith("#")) return;
      const line = index + 1;
      const [digest = "", ...rest] = content.split(/\s+/);
      if (!/^[0-9a-fA-F]{64}$/.test(digest)) {
        problems.push({
          file,
          path: "",
          line,
          message: `expected a SHA-256 digest of 64 hexadecimal digits, found ${digest.length} characters that are none`,
          suggestion: 'printf %s "$TOKEN" | sha256sum  makes one; never put the token itself here',
        });
        return;
      }
      const label = rest.join(" ").replace(/^#\s*/, "");
      if (label.length > 100) {
        problems.push({ file, path: "", line, message: `the label ${quoted(label)} is longer than 100 characters` });
        return;
      }
      if (keys.has(digest.toLowerCase())) {
        problems.push({
          file,
          path: "",
          line,
          message: "this digest stands in the file already",
          suggestion: "remove one of the lines",
        });
        return;
      }
      keys.set(digest.toLowerCase(), label === "" ? null : label);
    });
  if (problems.length === 0 && keys.size === 0) {
    problems.push({
      file,
      path: "",
      message: "holds no digest, so that every caller would be refused",
      suggestion: "add at least one line, or unset AUTH_KEYS_FILE",
    });
  }
  return problems.length > 0 ? { kind: "invalid", problems } : { kind: "ok", keys };
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown error";
}
