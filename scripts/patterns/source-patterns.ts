import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parseSync, Visitor } from "oxc-parser";

export interface SourcePattern {
  /** `file:line`. */
  readonly place: string;
  readonly source: string;
  readonly flags: string;
}

const root = join(import.meta.dir, "..", "..");

/** The literals of all files of the program, and the places where patterns are made. */
export function literalPatterns(): { readonly literals: readonly SourcePattern[]; readonly made: ReadonlySet<string> } {
  const literals: SourcePattern[] = [];
  const made = new Set<string>();
  const files = [...new Bun.Glob("src/**/*.ts").scanSync({ cwd: root })]
    .filter((file) => !/\.test\.ts$|\.contract\.ts$|\/testing\/|fixtures/.test(file))
    .sort();
  for (const file of files) {
    const text = readFileSync(join(root, file), "utf8");
    const placeOf = (offset: number) => `${file}:${text.slice(0, offset).split("\n").length}`;
    const constructed = ({ callee, start }: { callee: object; start: number }) => {
      if ("name" in callee && callee.name === "RegExp") made.add(placeOf(start));
    };
    new Visitor({
      Literal: (node) => {
        if ("regex" in node)
          literals.push({ place: placeOf(node.start), source: node.regex.pattern, flags: node.regex.flags });
      },
      NewExpression: constructed,
      CallExpression: constructed,
    }).visit(parseSync(file, text).program);
  }
  return { literals, made };
}

/** What is made at these places while their files are loaded. */
export async function madePatterns(places: ReadonlySet<string>): Promise<readonly SourcePattern[]> {
  const { RegExp: Original } = globalThis;
  const found: SourcePattern[] = [];
  const record = (target: typeof RegExp, args: ConstructorParameters<typeof RegExp>) => {
    const pattern = new target(...args);
    const frame = new Error().stack?.split("\n").find((line) => line.includes("/src/"));
    const [, file = "", line] = /\(?(\/[^()]*):(\d+):\d+\)?$/.exec(frame ?? "") ?? [];
    const place = `${relative(root, file)}:${line}`;
    if (places.has(place)) found.push({ place, source: pattern.source, flags: pattern.flags });
    return pattern;
  };
  globalThis.RegExp = new Proxy(Original, {
    construct: (target, args) => record(target, args as ConstructorParameters<typeof RegExp>),
    apply: (target, _this, args) => record(target, args as ConstructorParameters<typeof RegExp>),
  });
  for (const file of new Set([...places].map((place) => place.replace(/:\d+$/, "")))) await import(join(root, file));
  globalThis.RegExp = Original;
  return found;
}
