// `npm run check`: formatting, lints, boundaries between folders, types, unused code, the time that patterns can take, and the
// weight of the project.
// `npm run check -- --fix` repairs what can be repaired.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { installIfNeeded, root } from "./toolchain.mjs";

installIfNeeded("all");
const bin = (name) => join(root, "node_modules", ".bin", name);
const fix = process.argv.includes("--fix") ? ["--write"] : [];
const steps = [
  [bin("biome"), ["check", "--error-on-warnings", "--diagnostic-level=warn", ...fix, "."]],
  [bin("tsc"), ["--noEmit"]],
  [bin("tsc"), ["--noEmit", "-p", "web"]],
  [bin("knip"), ["--no-progress"]],
  [bin("bun"), [join(root, "scripts", "check-patterns.ts")]],
  [process.execPath, [join(root, "scripts", "weight.mjs")]],
];
let failed = false;
for (const [command, args] of steps) {
  if (spawnSync(command, args, { cwd: root, stdio: "inherit" }).status !== 0) failed = true;
}
process.exit(failed ? 1 : 0);
