// Uploads what `npm run release:dry` has made. Run by `.github/workflows/release.yml` on a tag, which has signed in everywhere.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { charts, folder, root, run, version } from "./common.mjs";

if (process.env.GITHUB_REF_NAME !== `v${version}`) {
  console.error(`the tag ${process.env.GITHUB_REF_NAME} is not v${version}, which package.json says`);
  process.exit(1);
}
run(process.execPath, [join(root, "scripts", "release", "image.mjs"), "--push"]);
run(process.execPath, [join(root, "scripts", "release", "chart.mjs"), "--image"]);
run("helm", ["push", join(folder, `smart-gateway-${version}.tgz`), charts]);
run("npm", ["publish", join(folder, `smart-gateway-npm-${version}.tgz`)]);
const files = readdirSync(folder).filter(
  (name) => !["NOTES.md", "image-digest"].includes(name) && !name.endsWith(".tar"),
);
const notes = ["--notes-file", join(folder, "NOTES.md"), "--title", version];
run("gh", ["release", "create", `v${version}`, "--verify-tag", ...notes, ...files.map((name) => join(folder, name))]);
