import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../package.json";

export { version };

/** Set when an executable is made (`scripts/build.mjs`). */
declare const BUILD_COMMIT: string | undefined;

let found: string | undefined;

/** The commit that this program was made of; `unknown` where nothing says. Found once: `/healthz` and `doctor` ask for it. */
export function commit(): string {
  if (typeof BUILD_COMMIT === "string") return BUILD_COMMIT;
  found ??= commitIn(join(import.meta.dir, ".."));
  return found;
}

/** Of a clone; else of the npm package, which has it in a file. A clone may have that file too, of the last package made in it. */
export function commitIn(root: string): string {
  try {
    // Only where the root is that of a clone: a package may lie in a folder of somebody's own repository.
    if (!existsSync(join(root, ".git"))) return JSON.parse(readFileSync(join(root, "build.json"), "utf8")).commit;
    const git = Bun.spawnSync(["git", "rev-parse", "HEAD"], { cwd: root, stdout: "pipe", stderr: "ignore" });
    return git.success ? git.stdout.toString().trim() : "unknown";
  } catch {
    return "unknown"; // no such file, or no git
  }
}
