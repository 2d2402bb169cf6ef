// Part of `npm run check`: no pattern of the source may take more than linear time (docs/decisions/0280). Literals are read from
// the files; what `new RegExp(…)` makes is recorded while the files that hold it are loaded, so it has to be made then.
import { problemOf } from "./patterns/cost.ts";
import { exceptions } from "./patterns/exceptions.ts";
import { literalPatterns, madePatterns } from "./patterns/source-patterns.ts";

const { literals, made } = literalPatterns();
const recorded = await madePatterns(made);
const problems: string[] = [];
const used = new Set<object>();
const isExcepted = (place: string, pattern: string | undefined) => {
  const exception = exceptions.find((one) => place.startsWith(`${one.file}:`) && one.pattern === pattern);
  if (exception !== undefined) used.add(exception);
  return exception !== undefined;
};
for (const { place, source, flags } of [...literals, ...recorded]) {
  const problem = problemOf(source, flags);
  if (problem === undefined || isExcepted(place, source)) continue;
  problems.push(`${place}: ${problem}\n    /${source.length > 150 ? `${source.slice(0, 150)}…` : source}/${flags}`);
}
const recordedPlaces = new Set(recorded.map(({ place }) => place));
for (const place of made) {
  if (recordedPlaces.has(place) || isExcepted(place, undefined)) continue;
  problems.push(`${place}: the pattern is not made while the file is loaded, so it cannot be checked`);
}
for (const one of exceptions)
  if (!used.has(one)) problems.push(`${one.file}: the exception for ${one.pattern ?? "a made pattern"} is not needed`);

for (const problem of problems) console.error(problem);
console.log(`${literals.length + recorded.length} patterns, ${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
