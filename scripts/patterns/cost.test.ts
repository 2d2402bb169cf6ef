import { expect, test } from "bun:test";
import fc from "fast-check";
import { problemOf } from "./cost.ts";

/** [pattern, what is said of it: undefined when its time is linear] */
const cases: readonly (readonly [RegExp, string | undefined])[] = [
  [/a+/g, undefined],
  [/"[^"]*"/g, undefined],
  [/#.*/g, undefined],
  [/\b\w+@/g, undefined],
  [/^\s+x/, undefined],
  [/^[ \t]*x/m, undefined],
  [/(?<!\/)\/+$/, undefined],
  [/x[^\n]{0,400}?y/g, undefined],
  [/(?:[\w-]{1,20}\.){1,8}com/, undefined],
  [/^(a+)-\1$/, undefined],
  [/<b\b[\s\S]*?(?:<\/b>|$)/g, undefined],
  [/[A-Z]+(?![a-z])|[a-z]+/g, undefined],
  [/^(?=[^0-9]*[0-9])[a-z0-9]+$/, undefined],
  [/a+b/, "search"],
  [/\/+$/, "search"],
  [/\s*,\s*/, "search"],
  [/^\s*\n+x/m, "search"],
  [/<!--[\s\S]*?-->/g, "search"],
  [/\d.*\d/, undefined],
  [/\n\s*\n/, undefined],
  [/\d(?:.*y|x)/g, "search"],
  [/(?:a(?:.*b)?)/g, "search"],
  [/x(?=.*y)/g, "search"],
  [/"(?:[^"\\]|\\[\s\S])*"/g, "search"],
  [/^\s*(?:identity)?\s*$/, "\\s (repeated), then \\s"],
  [/^(?:a+b|a)*$/, "exponential"],
  [/^(?:a+b|a)*/, "then a"],
  [/(a+)\1b/, "search"],
  [/^(?:a|a)*$/, "exponential"],
  [/^(?:a*)*b/, "exponential"],
  [/^(?:[\w@~-]{0,80}[./\\-])+!/, "exponential"],
  [/^(?:ab|a|b)+c/, "exponential"],
  [/^(?:\w\d?)+$/, "exponential"],
  [/^(?:\d|\d\d){0,40}$/, "exponential"],
  [/x\w{0,400}\w{0,400}y/, "up to 160000 steps"],
  [/(?<=a+)b/, "may look back"],
];
test.each(cases)("%s", (pattern, expected) => {
  const problem = problemOf(pattern.source, pattern.flags);
  if (expected === undefined) expect(problem).toBeUndefined();
  else expect(problem).toContain(expected);
});

type Node =
  | { readonly kind: "chars"; readonly text: string }
  | { readonly kind: "sequence" | "choice"; readonly of: readonly Node[] }
  | { readonly kind: "repeat"; readonly of: Node; readonly min: number; readonly max: number; readonly lazy: boolean }
  | { readonly kind: "ahead"; readonly of: Node; readonly negate: boolean }
  | { readonly kind: "start" | "end" | "edge" };

const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    { weight: 5, arbitrary: fc.constantFrom("a", "b", "ab", " ").map((text): Node => ({ kind: "chars", text })) },
    fc.constantFrom("start", "end", "edge").map((kind) => ({ kind }) as Node),
    {
      weight: 3,
      arbitrary: fc.array(tie("node"), { minLength: 1, maxLength: 3 }).map((of): Node => ({ kind: "sequence", of })),
    },
    fc.array(tie("node"), { minLength: 2, maxLength: 3 }).map((of): Node => ({ kind: "choice", of })),
    {
      weight: 3,
      arbitrary: fc
        .tuple(tie("node"), fc.constantFrom([0, Infinity], [1, Infinity], [0, 1], [1, 2]), fc.boolean())
        .map(([of, [min = 0, max = 1], lazy]): Node => ({ kind: "repeat", of, min, max, lazy })),
    },
    fc.tuple(tie("node"), fc.boolean()).map(([of, negate]): Node => ({ kind: "ahead", of, negate })),
  ),
}));

function sourceOf(of: Node): string {
  switch (of.kind) {
    case "chars":
      return of.text.length === 1 ? of.text : `[${of.text}]`;
    case "sequence":
      return of.of.map(sourceOf).join("");
    case "choice":
      return `(?:${of.of.map(sourceOf).join("|")})`;
    case "repeat":
      return `(?:${sourceOf(of.of)}){${of.min},${of.max === Infinity ? "" : of.max}}${of.lazy ? "?" : ""}`;
    case "ahead":
      return `(?${of.negate ? "!" : "="}${sourceOf(of.of)})`;
    default:
      return { start: "^", end: "$", edge: "\\b" }[of.kind];
  }
}

/** Steps of a plain backtracking search (ECMA-262, 22.2.2) for all matches, or -1 above the limit. */
function stepsOf(whole: Node, text: string, limit: number): number {
  let steps = 0;
  const step = () => {
    if (++steps > limit) throw new RangeError();
  };
  const isWord = (at: number) => /\w/.test(text[at] ?? " ");
  const match = (of: Node, at: number, then: (at: number) => number): number => {
    step();
    switch (of.kind) {
      case "chars":
        return at < text.length && of.text.includes(text[at] as string) ? then(at + 1) : -1;
      case "sequence": {
        const from = (index: number, place: number): number => {
          const part = of.of[index];
          return part === undefined ? then(place) : match(part, place, (next) => from(index + 1, next));
        };
        return from(0, at);
      }
      case "choice": {
        for (const part of of.of) {
          const end = match(part, at, then);
          if (end >= 0) return end;
        }
        return -1;
      }
      case "repeat": {
        const again = (count: number, place: number): number => {
          step();
          const more = () =>
            count === of.max
              ? -1
              : match(of.of, place, (next) => (next === place && count >= of.min ? -1 : again(count + 1, next)));
          const done = () => (count >= of.min ? then(place) : -1);
          const [first, second] = of.lazy ? [done, more] : [more, done];
          const end = first();
          return end >= 0 ? end : second();
        };
        return again(0, at);
      }
      case "ahead":
        return match(of.of, at, (next) => next) >= 0 !== of.negate ? then(at) : -1;
      default: {
        const holds = { start: at === 0, end: at === text.length, edge: isWord(at - 1) !== isWord(at) }[of.kind];
        return holds ? then(at) : -1;
      }
    }
  };
  try {
    for (let at = 0; at <= text.length; ) {
      const end = match(whole, at, (next) => next);
      at = end > at ? end : at + 1;
    }
  } catch (error) {
    if (error instanceof RangeError) return -1;
    throw error;
  }
  return steps;
}

const pumps = ["a", "b", " ", "ab", "ba", "a ", " a", "b ", "aab", "abb", "ab ", "a b"];

test("what passes takes a plain matcher linear time on every pumped text", () => {
  let passed = 0;
  fc.assert(
    fc.property(
      node,
      fc.constantFrom("", "a", "b ", "ab"),
      fc.constantFrom("", "a", "!", " b"),
      (tree, prefix, suffix) => {
        const source = sourceOf(tree);
        new RegExp(source); // what cannot be compiled is no example
        if (problemOf(source, "") !== undefined) return;
        passed++;
        for (const pump of pumps) {
          const [short, long] = [50, 100].map((times) =>
            stepsOf(tree, prefix + pump.repeat(times) + suffix, 2_000_000),
          );
          expect({ source, pump, prefix, suffix, linear: long !== -1 && long! <= 2.5 * short! + 200 }).toMatchObject({
            linear: true,
          });
        }
      },
    ),
    { numRuns: process.env["SMART_GATEWAY_LONG_TESTS"] === "1" ? 30_000 : 400 },
  );
  expect(passed).toBeGreaterThan(100);
}, 60_000);
