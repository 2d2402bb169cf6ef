// `npm run check`: formatting, lints, boundaries between folders, types. `npm run check -- --fix` mends what can be mended.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { installIfNeeded, root } from "./toolchain.mjs";

installIfNeeded("all");
const bin = (name) => join(root, "node_modules", ".bin", name);
const steps = [
  [bin("biome"), ["check", "--error-on-warnings", ...(process.argv.includes("--fix") ? ["--write"] : []), "."]],
  [bin("tsc"), ["--noEmit"]],
];
let failed = false;
for (const [command, args] of steps) {
  if (spawnSync(command, args, { cwd: root, stdio: "inherit" }).status !== 0) failed = true;
}
process.exit(failed ? 1 : 0);
