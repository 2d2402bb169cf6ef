import { readText } from "./config-file.ts";
import type { Invalid, Problem } from "./problem.ts";

/** Environment variables from a file, by name. */
export type EnvFile = { readonly kind: "ok"; readonly values: ReadonlyMap<string, string> } | Invalid;

/**
 * Reads `NAME=value` lines. A value is everything behind the sign, literally: passwords have `$`, quotes and `#` in
 * them. Blank lines and lines that begin with `#` are skipped. This is the form of `docker --env-file`.
 */
export function readEnvFile(path: string): EnvFile {
  const read = readText(path, "--env-file");
  if (read.kind === "invalid") return read;
  const values = new Map<string, string>();
  const problems: Problem[] = [];
  for (const [index, line] of read.text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue;
    const sign = line.indexOf("=");
    const name = line.slice(0, Math.max(0, sign));
    const refuse = (message: string, suggestion: string) =>
      void problems.push({ file: path, path: "", line: index + 1, message, suggestion });
    // The line may hold a secret, so that it is not repeated.
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      refuse("is not NAME=value", "write nothing around the name, no `export`");
    else if (values.has(name)) refuse(`${name} stands in the file already`, "remove one of the lines");
    else values.set(name, line.slice(sign + 1));
  }
  return problems.length > 0 ? { kind: "invalid", problems } : { kind: "ok", values };
}
