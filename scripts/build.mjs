// `npm run build`: the gateway as one executable file, `dist/smart-gateway`, and its bill of materials, `dist/sbom.cdx.json`.
// Everything it needs is inside: workers, migrations, the shipped policy and registry, the dashboard, source maps.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commitOf } from "./release/common.mjs";
import { bunBinary, installIfNeeded, root } from "./toolchain.mjs";

installIfNeeded("runtime");
const folder = join(root, "dist");
for (const file of ["smart-gateway", "sbom.cdx.json", "data"])
  rmSync(join(folder, file), { recursive: true, force: true });
// The data folder of an image, with the owner that the Dockerfile gives it: images without a shell cannot make one.
mkdirSync(join(folder, "data"), { recursive: true });

/** Each thread has a program of its own. Inside the executable they lie side by side, under the names of their files. */
const programs = ["src/main.ts", "src/ledger/sqlite/sqlite-worker.ts", "src/db/sqlite-thread.ts"];
run(bunBinary(), [
  "build",
  "--compile",
  // Compiled ahead of time it starts in less than half the time, for 8 MB more.
  "--bytecode",
  "--format=esm",
  "--sourcemap",
  // A folder in which somebody starts it must not change what it does.
  "--no-compile-autoload-dotenv",
  "--no-compile-autoload-bunfig",
  "--entry-naming=[name].[ext]",
  "--asset=src/dashboard/assets",
  `--define=BUILD_COMMIT=${JSON.stringify(commitOf())}`,
  `--outfile=${join(folder, "smart-gateway")}`,
  ...process.argv.slice(2),
  ...programs,
]);
// The executable has them inside.
for (const file of readdirSync(folder)) if (file.endsWith(".map")) rmSync(join(folder, file));

const npm = process.platform === "win32" ? "npm.cmd" : "npm";
const sbom = run(npm, ["sbom", "--package-lock-only", "--omit=dev", "--sbom-format=cyclonedx"], "pipe");
writeFileSync(join(folder, "sbom.cdx.json"), sbom);

/** Runs a program in the project's folder, and ends this one where it fails. */
function run(command, args, stdout = "inherit") {
  const result = spawnSync(command, args, { cwd: root, stdio: ["ignore", stdout, "inherit"], encoding: "utf8" });
  if (result.status !== 0) process.exit(result.status ?? 1);
  return result.stdout;
}
