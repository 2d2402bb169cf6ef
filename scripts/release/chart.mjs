// The chart, as `helm push` uploads it. Of an image that is uploaded already (`--image`) it names address and digest.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { folder, image, imageDigest, root, run } from "./common.mjs";

const copy = mkdtempSync(join(tmpdir(), "smart-gateway-chart-"));
// Its alerts and dashboard are links to the files of those who have no chart.
cpSync(join(root, "deploy", "chart"), copy, { recursive: true, dereference: true });
if (process.argv.includes("--image")) {
  const values = join(copy, "values.yaml");
  const named = readFileSync(values, "utf8")
    .replace("repository: smart-gateway", `repository: ${image}`)
    .replace('digest: ""', `digest: ${readFileSync(imageDigest, "utf8").trim()}`);
  writeFileSync(values, named);
}
run("helm", ["lint", "--quiet", copy]);
run("helm", ["package", copy, "--destination", folder]);
rmSync(copy, { recursive: true });
