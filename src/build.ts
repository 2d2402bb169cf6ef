import { readFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../package.json";

export { version };

/** Set when an executable is made (`scripts/build.mjs`). */
declare const BUILD_COMMIT: string | undefined;

const root = join(import.meta.dir, "..");

let found: string | undefined;

/** The commit that this program was made of; `unknown` where nothing says. Found once: `/healthz` and `doctor` ask for it. */
export function commit(): string {
  if (typeof BUILD_COMMIT === "string") return BUILD_COMMIT;
  found ??= packedCommit() ?? checkedOutCommit() ?? "unknown";
  return found;
}

/** Of the npm package, which has it in a file (`scripts/release/build-file.mjs`). */
function packedCommit(): string | undefined {
  try {
    return JSON.parse(readFileSync(join(root, "build.json"), "utf8")).commit;
  } catch {
    return undefined; // no package
  }
}

/** Of a clone. */
function checkedOutCommit(): string | undefined {
  try {
    const git = Bun.spawnSync(["git", "rev-parse", "HEAD"], { cwd: root, stdout: "pipe", stderr: "ignore" });
    return git.success ? git.stdout.toString().trim() : undefined;
  } catch {
    return undefined; // no git
  }
}
