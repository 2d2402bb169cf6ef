// Part of `npm run check`: no folder of source, tests, benches, scripts or pages holds more files than a reader takes in at a glance. The
// limit of functions is in check-functions.mjs, that of files is Biome's rule (biome.json: noExcessiveLinesPerFile).
// `--warn` prints what is above the limit and ends with 0 all the same.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "./toolchain.mjs";

const maxFiles = 15;
/** Folders of data or generated files, whose number of files follows from their content. Each with its reason. */
const exceptions = new Map([
  ["src/db/migrations/sqlite", "one file for each released change of the schema"],
  ["src/db/migrations/postgres", "one file for each released change of the schema"],
  ["src/upstream/fixtures", "recorded answers"],
  ["docs/decisions", "one file for each decision"],
]);

/** @returns {string[]} one line for each folder at or below `folder` that has too many files */
function overfull(folder) {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).length;
  const own = files > maxFiles && !exceptions.has(folder) ? [`${folder}: ${files} files, at most ${maxFiles}`] : [];
  return [
    ...own,
    ...entries.filter((entry) => entry.isDirectory()).flatMap(({ name }) => overfull(`${folder}/${name}`)),
  ];
}

const lines = ["src", "dashboard", "test", "bench", "scripts", "docs"].flatMap(overfull);
for (const line of lines) console.error(line);
if (lines.length > 0) console.error("Give each topic a folder of its own.");
process.exit(lines.length > 0 && !process.argv.includes("--warn") ? 1 : 0);
