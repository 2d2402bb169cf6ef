// Part of `npm run check`: no pattern of the source may take more than linear time (docs/decisions/0280). Literals are read from
// the files; what `new RegExp(…)` makes is recorded while the files that hold it are loaded, so it has to be made then.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { problemOf } from "./patterns/cost.ts";
import { exceptions } from "./patterns/exceptions.ts";

type Found = { readonly place: string; readonly source: string; readonly flags: string };

const root = join(import.meta.dir, "..");
const files = [...new Bun.Glob("src/**/*.ts").scanSync({ cwd: root })]
  .filter((file) => !/\.test\.ts$|\.contract\.ts$|\/testing\/|fixtures/.test(file))
  .sort();

const found: Found[] = [];
const sites = new Set<string>();
for (const file of files) {
  const text = readFileSync(join(root, file), "utf8");
  const placeOf = (offset: number) => `${file}:${text.slice(0, offset).split("\n").length}`;
  const constructed = ({ callee, start }: { callee: object; start: number }) => {
    if ("name" in callee && callee.name === "RegExp") sites.add(placeOf(start));
  };
  new Visitor({
    Literal: (node) => {
      if ("regex" in node)
        found.push({ place: placeOf(node.start), source: node.regex.pattern, flags: node.regex.flags });
    },
    NewExpression: constructed,
    CallExpression: constructed,
  }).visit(parseSync(file, text).program);
}

const { RegExp: Original } = globalThis;
const made = new Set<string>();
const record = (target: typeof RegExp, args: ConstructorParameters<typeof RegExp>) => {
  const pattern = new target(...args);
  const frame = new Error().stack
    ?.split("\n")
    .find((line) => !line.includes("check-patterns.ts") && line.includes(":"));
  const place = /\(?(\/[^()]*):(\d+):\d+\)?$/.exec(frame ?? "");
  const at = `${relative(root, place?.[1] ?? "")}:${place?.[2]}`;
  if (sites.has(at)) {
    made.add(at);
    found.push({ place: at, source: pattern.source, flags: pattern.flags });
  }
  return pattern;
};
globalThis.RegExp = new Proxy(Original, {
  construct: (target, args) => record(target, args as ConstructorParameters<typeof RegExp>),
  apply: (target, _this, args) => record(target, args as ConstructorParameters<typeof RegExp>),
});
for (const file of new Set([...sites].map((site) => site.replace(/:\d+$/, "")))) await import(join(root, file));
globalThis.RegExp = Original;

const problems: string[] = [];
const used = new Set<string>();
const excepted = (place: string, pattern: string | undefined) => {
  const exception = exceptions.find((one) => place.startsWith(`${one.file}:`) && one.pattern === pattern);
  if (exception !== undefined) used.add(`${exception.file} ${exception.pattern}`);
  return exception !== undefined;
};
for (const { place, source, flags } of found) {
  const problem = problemOf(source, flags);
  if (problem === undefined || excepted(place, source)) continue;
  problems.push(`${place}: ${problem}\n    /${source.length > 150 ? `${source.slice(0, 150)}…` : source}/${flags}`);
}
for (const site of sites) {
  if (made.has(site) || excepted(site, undefined)) continue;
  problems.push(`${site}: the pattern is not made while the file is loaded, so it cannot be checked`);
}
for (const { file, pattern } of exceptions)
  if (!used.has(`${file} ${pattern}`))
    problems.push(`${file}: the exception for ${pattern ?? "a made pattern"} is not needed`);

for (const problem of problems) console.error(problem);
console.log(`${found.length} patterns, ${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
