// The image for two architectures: into a file, or with `--push` to the registry. It takes the executables that `executables.mjs` has
// made, so nothing runs while it is built, and no machine of the other architecture is needed. Without a registry there is no base to
// take: the image of a dry run is what the Dockerfile adds to it.
import { spawnSync } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { commitOf, folder, image, imageDigest, root, run, version } from "./common.mjs";

const isPush = process.argv.includes("--push");
if (!isPush && spawnSync("buildah", ["--version"]).status !== 0) {
  console.log("image: not built, because buildah is not installed");
  process.exit(0);
}
const list = `${image}:${version}`;
// An earlier run that was ended has left it.
spawnSync("buildah", ["manifest", "rm", list]);
run("buildah", ["manifest", "create", list]);
const about = { VERSION: version, REVISION: commitOf(), ...(isPush ? {} : { BASE: "scratch" }) };
const dockerfile = ["--file=deploy/Dockerfile", "--ignorefile=deploy/Dockerfile.dockerignore"];
for (const [architecture, system] of [
  ["amd64", "linux-x64"],
  ["arm64", "linux-arm64"],
]) {
  copyFileSync(join(folder, `smart-gateway-${version}-${system}`), join(root, "dist", `smart-gateway-${architecture}`));
  const settings = Object.entries({ ...about, SUFFIX: `-${architecture}` }).map(
    ([name, value]) => `--build-arg=${name}=${value}`,
  );
  // OCI's own format has no health check.
  const as = ["--format=docker", `--platform=linux/${architecture}`, `--manifest=${list}`];
  run("buildah", ["build", "--quiet", ...dockerfile, ...as, ...settings, "."]);
}
const file = `oci-archive:${join(folder, `smart-gateway-image-${version}.tar`)}`;
const to = isPush ? ["--format=v2s2", list, `docker://${list}`] : [list, file];
run("buildah", ["manifest", "push", "--all", "--quiet", `--digestfile=${imageDigest}`, ...to]);
run("buildah", ["manifest", "rm", list]);
console.log(`${list}@${readFileSync(imageDigest, "utf8")}`);
