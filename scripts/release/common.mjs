// What the steps of a release share. Each step is a program of its own, so that it can be run and looked at alone.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../toolchain.mjs";

export { root };
export const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Where the artefacts go. */
export const folder = join(root, "dist", "release");
mkdirSync(folder, { recursive: true });

/** Where they are uploaded to: the workflow names the registry. */
const registry =
  `${process.env.REGISTRY ?? "localhost"}/${process.env.GITHUB_REPOSITORY ?? "smart-gateway"}`.toLowerCase();
export const image = registry;
/** The digest of the image that was made last. */
export const imageDigest = join(folder, "image-digest");
export const charts = `oci://${registry}/charts`;

/** The commit that is released; `unknown` outside of a clone. */
export function commitOf() {
  const git = spawnSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" });
  return git.status === 0 ? git.stdout.trim() : "unknown";
}

/** Runs a program in the project's folder and gives back what it printed; ends this one where it fails. */
export function run(command, args, env = {}) {
  const result = spawnSync(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
  });
  if (result.status === 0) return result.stdout;
  console.error(`${command} ${args.join(" ")}: ${result.error?.message ?? `exit ${result.status}`}`);
  process.exit(1);
}
