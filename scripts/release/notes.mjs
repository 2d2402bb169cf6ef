// The notes of the release: its section of CHANGELOG.md.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, root, version } from "./common.mjs";

const sections = readFileSync(join(root, "CHANGELOG.md"), "utf8").split(/^## /m).slice(1);
const own = sections.find((section) => section.includes(version) && section.indexOf(version) < section.indexOf("\n"));
if (own === undefined) {
  console.error(`CHANGELOG.md has no section for ${version}`);
  process.exit(1);
}
writeFileSync(join(folder, "NOTES.md"), own.slice(own.indexOf("\n") + 1).trimStart());
