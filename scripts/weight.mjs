// Part of `npm run check`: what the project weighs beside the budget of each folder. Production lines are those of `.ts`, `.tsx`, `.sql`,
// `.css` and `.mjs` files without tests, contracts, test helpers and fixtures. Ends with 1 if something is over its budget.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./toolchain.mjs";

/** Lines that each folder of `src` may have. A folder that is not listed may have none. */
const folderBudgets = {
  gateway: 1100,
  cli: 2800,
  dashboard: 2200,
  http: 3200,
  pipeline: 7500,
  "pipeline/assess": 2600,
  "pipeline/decide": 1500,
  "pipeline/execute": 1200,
  "pipeline/respond": 1300,
  "pipeline/settle": 500,
  ledger: 4200,
  privacy: 5500,
  records: 3000,
  health: 1700,
  upstream: 2000,
  "http-client": 1400,
  models: 1000,
  config: 2000,
  learning: 700,
  telemetry: 1400,
  simulator: 900,
  db: 1000,
  platform: 1000,
  domain: 1200,
};

const tracked = git("ls-files", "--cached", "--others", "--exclude-standard").filter(
  (file) => lines(file) !== undefined,
);
const test = /\.test\.tsx?$|\/testing\/|\.contract\.ts$|^test\//;
const production = tracked.filter(
  (file) => /\.(?:tsx?|sql|css|mjs)$/.test(file) && !test.test(file) && !/fixtures|\/assets\//.test(file),
);
const source = production.filter((file) => file.startsWith("src/"));
const sizes = source
  .filter((file) => file.endsWith(".ts"))
  .map(lines)
  .sort((a, b) => a - b);
const tests = tracked.filter((file) => /^(?:src|test)\/.*\.(?:tsx?|mjs)$/.test(file) && test.test(file));
const pages = tracked.filter((file) => /^(?:README|CHANGELOG|CONTRIBUTING|SECURITY)\.md$|^docs\/.*\.md$/.test(file));

/** [what, how much, at most (`least`: at least)] */
const measures = [
  ["src: lines", total(source), 45_000],
  ["src: files", sizes.length, 420],
  ["src: median lines of a file", sizes[Math.floor((sizes.length - 1) / 2)], 90, "least"],
  ["tests: lines", total(tests), 30_000],
  ["bench: lines", total(production.filter((file) => file.startsWith("bench/"))), 3_000],
  ["dashboard: lines", total(production.filter((file) => file.startsWith("dashboard/"))), 5_000],
  ["docs: words", pages.reduce((sum, file) => sum + text(file).split(/\s+/).filter(Boolean).length, 0), 60_000],
  ["docs/decisions: files", tracked.filter((file) => /^docs\/decisions\/\d/.test(file)).length, 30],
  ...folders().map((folder) => [
    `src/${folder}: lines`,
    total(source.filter((file) => file.startsWith(`src/${folder}/`))),
    folderBudgets[folder] ?? 0,
  ]),
];

let over = false;
for (const [what, have, budget, kind] of measures) {
  const fits = kind === "least" ? have >= budget : have <= budget;
  if (!fits) over = true;
  console.log(
    `${fits ? "  " : "! "}${what.padEnd(32)}${String(have).padStart(7)} ${kind === "least" ? "≥" : "≤"} ${budget}`,
  );
}
if (over) console.error("What is marked with ! is over its budget.");
process.exit(over ? 1 : 0);

function folders() {
  const top = new Set(
    source
      .map((file) => file.split("/"))
      .filter((parts) => parts.length > 2)
      .map(([, name]) => name),
  );
  return [...new Set([...Object.keys(folderBudgets), ...top])];
}

function git(...args) {
  return spawnSync("git", args, { cwd: root, encoding: "utf8" }).stdout.split("\n").filter(Boolean);
}

function text(file) {
  return readFileSync(join(root, file), "utf8");
}

/** Lines as `wc -l` counts them; undefined when the file was deleted. */
function lines(file) {
  try {
    return text(file).split("\n").length - 1;
  } catch {
    return undefined;
  }
}

function total(files) {
  return files.reduce((sum, file) => sum + lines(file), 0);
}
