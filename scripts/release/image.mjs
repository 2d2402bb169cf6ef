// The image for two architectures, with provenance and bill of materials: into a file, or with `--push` to the registry.
// It takes the executables that `executables.mjs` has made.
import { spawnSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { commitOf, folder, image, root, run, version } from "./common.mjs";

const isPush = process.argv.includes("--push");
if (!isPush && spawnSync("docker", ["buildx", "ls"], { stdio: "ignore" }).status !== 0) {
  console.log(
    "image: not built, because no Docker engine answers; `npm run test:deploy` builds and runs it with buildah",
  );
  process.exit(0);
}
const architectures = { amd64: "linux-x64", arm64: "linux-arm64" };
for (const [architecture, system] of Object.entries(architectures)) {
  const executable = join(folder, `smart-gateway-${version}-${system}`);
  copyFileSync(executable, join(root, "dist", `smart-gateway-${architecture}`));
}
run("docker", ["buildx", "create", "--use"]);
run("docker", [
  ...["buildx", "build", "--file", "deploy/Dockerfile", "--platform", "linux/amd64,linux/arm64"],
  ...["--provenance", "mode=max", "--sbom", "true", "--build-arg", "EACH=yes"],
  ...["--build-arg", `VERSION=${version}`, "--build-arg", `REVISION=${commitOf()}`, "--tag", `${image}:${version}`],
  // Its digest, by which deployments should name it.
  ...["--metadata-file", join(folder, "image.json")],
  ...(isPush ? ["--push"] : ["--output", `type=oci,dest=${join(folder, `image-${version}.tar`)}`]),
  ".",
]);
