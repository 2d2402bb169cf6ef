import { renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";

/**
 * Replaces a file atomically, keeping its mode: readers see the old text or the new one. `check` gets the path of the
 * new file first, and returns a reason not to use it. Returns that reason; undefined when the file was replaced.
 */
export function replaceFile(
  path: string,
  text: string,
  check: (temporary: string) => string | undefined,
): string | undefined {
  // The extension decides how the file is parsed.
  const temporary = join(dirname(path), `.smart-gateway-${process.pid}${extname(path)}`);
  try {
    const before = statSync(path, { throwIfNoEntry: false });
    // What took the place of a device or a pipe would be a file.
    if (before?.isFile() === false) return `${path} is no regular file, and is not replaced`;
    const mode = before === undefined ? 0o644 : before.mode & 0o777;
    writeFileSync(temporary, text, { mode, flag: "wx" });
    const problem = check(temporary);
    if (problem !== undefined) return problem;
    renameSync(temporary, path);
    return undefined;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    return `${path} cannot be written: ${code}`;
  } finally {
    rmSync(temporary, { force: true });
  }
}
