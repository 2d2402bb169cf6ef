import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The rows of a table of cases: a JSON value a line, in a file that stands beside its test. */
export function jsonLines<T>(folder: string, file: string): T[] {
  const lines = readFileSync(join(folder, file), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as T); // tables are written by this project
}
