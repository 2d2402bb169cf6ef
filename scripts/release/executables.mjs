// One executable for each system, their checksums, and the bill of materials.
import { createHash } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, root, run, version } from "./common.mjs";

const systems = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];

for (const system of systems) {
  run(process.execPath, ["scripts/build.mjs", `--target=bun-${system}`]);
  renameSync(join(root, "dist", "smart-gateway"), join(folder, `smart-gateway-${version}-${system}`));
}
copyFileSync(join(root, "dist", "sbom.cdx.json"), join(folder, `smart-gateway-${version}.cdx.json`));
const sums = readdirSync(folder)
  .filter((name) => systems.some((system) => name.endsWith(system)) || name.endsWith(".cdx.json"))
  .map(
    (name) =>
      `${createHash("sha256")
        .update(readFileSync(join(folder, name)))
        .digest("hex")}  ${name}\n`,
  );
writeFileSync(join(folder, "SHA256SUMS"), sums.join(""));
