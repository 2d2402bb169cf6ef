// Part of `npm run check`: what the project weighs beside the budget of each folder. Production lines are those of `.ts`, `.tsx`, `.sql`,
// `.css` and `.mjs` files without tests, contracts, test helpers and fixtures. Ends with 1 if something is over its budget.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./toolchain.mjs";

/** Lines that each folder of `src` may have. A folder that is not listed may have none. */
const folderBudgets = {
  gateway: 1130,
  cli: 2590,
  dashboard: 1380,
  operator: 1490,
  http: 3230,
  pipeline: 6430,
  "pipeline/assess": 1890,
  "pipeline/decide": 900,
  "pipeline/execute": 1100,
  "pipeline/respond": 1050,
  "pipeline/settle": 500,
  ledger: 4800,
  privacy: 4940,
  records: 3310,
  health: 1310,
  upstream: 2640,
  "http-client": 1400,
  models: 1010,
  config: 1840,
  learning: 250,
  telemetry: 1310,
  simulator: 830,
  db: 1105,
  platform: 920,
  // With the table of errors, which stood in http, pipeline, ledger and dashboard.
  domain: 1460,
};

/** Words that a page may have, where it is one of the large ones. Of others: see `wordsOf`. */
const pageShares = {
  "docs/performance.md": 1_100,
  "docs/operating.md": 4_350,
  "docs/routing.md": 2_950,
  "docs/ledger.md": 2_350,
  "docs/guides/agents.md": 2_050,
  "docs/architecture.md": 1_950,
  "docs/reference/cli.md": 1_850,
  "docs/reference/policy.md": 1_750,
  "docs/reference/dashboard-api.md": 1_600,
  "docs/privacy.md": 1_550,
  "docs/reference/errors.md": 1_500,
  "docs/health.md": 1_400,
  "CONTRIBUTING.md": 1_450,
  "docs/reference/metrics.md": 1_350,
  "docs/security.md": 1_250,
  "docs/reference/credentials.md": 1_150,
  "CHANGELOG.md": 1_100,
  "README.md": 900,
};
/** A page is read at one sitting; a decision record is one screen. */
const wordsOf = (page) => pageShares[page] ?? (/^docs\/decisions\/\d/.test(page) ? 400 : 1_000);

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

const [ownSettings] = text("docs/reference/settings.md").split("\n## Further");

/** [what, how much, at most (`least`: at least)] */
const measures = [
  ["src: lines", total(source), 43_300],
  ["src: files", sizes.length, 390],
  ["src: median lines of a file", sizes[Math.floor((sizes.length - 1) / 2)], 90, "least"],
  ["tests: lines", total(tests), 31_600],
  ["bench: lines", total(production.filter((file) => file.startsWith("bench/"))), 3_160],
  ["web: lines", total(production.filter((file) => file.startsWith("web/"))), 4_980],
  ["docs: words", pages.reduce((sum, file) => sum + words(file), 0), 45_000],
  ...pages.filter((file) => words(file) > wordsOf(file)).map((file) => [`${file}: words`, words(file), wordsOf(file)]),
  // A key is documented, validated, reloaded and explained for ever.
  ["policy: keys", text("defaults/policy.yaml").match(/^ *[a-z_]+: \S/gm).length, 60],
  ["settings", ownSettings.match(/^\* `[A-Z_]+`/gm).length, 20],
  ["src: instances of the bounded cache", caches(), 17],
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

function words(file) {
  return text(file).split(/\s+/).filter(Boolean).length;
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

/** `LruMap`, or the memory that is made of one: each is a row of the table in docs/architecture.md. */
function caches() {
  const made = /new LruMap[<(]|limitedMemory[<(]/g;
  const users = source.filter((file) => file !== "src/platform/lru-map.ts");
  return users.reduce((sum, file) => sum + (text(file).match(made)?.length ?? 0), 0);
}

function total(files) {
  return files.reduce((sum, file) => sum + lines(file), 0);
}
