// Part of `npm run check`: no function has more lines than a reader keeps in mind. All lines count, from the first to the last, with
// comments, blank lines and the functions within it. (Biome's rule leaves out closing braces and the lines of template literals.)
// `--warn` prints what is above the limit and ends with 0 all the same.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { root } from "./toolchain.mjs";

const maxLines = 80;
const folders = ["src", "dashboard", "scripts", "bench", "bin"];
/** Tables that are functions. Each with its reason. */
const exceptions = new Map([
  ["src/telemetry/metrics/request-metrics.ts declareEventMetrics", "one declaration for each metric"],
]);

// The parser that knip brings; the TypeScript compiler has no interface for programs that is stable.
const { parseSync, Visitor } = createRequire(createRequire(import.meta.url).resolve("knip"))("oxc-parser");

/** @returns {string[]} one line for each function of a file that is too long */
function tooLong(file) {
  const source = readFileSync(join(root, file), "utf8");
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  const found = [];
  const count = ({ start, end, id }) => {
    const lines = source.slice(start, end).split("\n").length;
    if (lines <= maxLines || exceptions.has(`${file} ${id?.name}`)) return;
    const first = source.slice(0, start).split("\n").length;
    found.push(`${file}:${first}: ${id?.name ?? "a function"} has ${lines} lines, at most ${maxLines}`);
  };
  new Visitor({ FunctionDeclaration: count, FunctionExpression: count, ArrowFunctionExpression: count }).visit(program);
  return found;
}

function isCounted(file) {
  return /\.(?:ts|tsx|mjs)$/.test(file) && !/\.(?:test|contract)\.ts$|\/testing\//.test(file);
}

const files = folders
  .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((name) => `${folder}/${name}`))
  .filter(isCounted);
const lines = files.flatMap(tooLong);
for (const line of lines) console.error(line);
if (lines.length > 0) console.error("Split each along its reasons to change.");
process.exit(lines.length > 0 && !process.argv.includes("--warn") ? 1 : 0);
