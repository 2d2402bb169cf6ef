import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Json } from "#domain/chat.ts";
import { closingQuoteInSteps, endOfString, hasMoreValuesInSteps, hasMoreValuesThan } from "./json-values.ts";

function valuesIn(value: Json): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, each) => sum + valuesIn(each), 1);
}

test("the count is exact, or above by at most one for each empty object or array", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(2), (value, spaces) => {
      const text = JSON.stringify(value, undefined, spaces);
      const values = valuesIn(value as Json);
      if (hasMoreValuesThan(text, values)) {
        // `[]` counts as an array and one possible element.
        const empty = text.match(/\[\s*\]|\{\s*\}/g)?.length ?? 0;
        expect(empty).toBeGreaterThan(0);
        expect(hasMoreValuesThan(text, values + empty)).toBe(false);
      }
      if (values > 1) expect(hasMoreValuesThan(text, values - 1)).toBe(true);
    }),
  );
});

test.each([
  ['["a,b,c,[{"]', 2],
  ['["\\",[,{\\\\"]', 2],
  ["[1,2,3]", 4],
  ['{"a":{"b":[true,null]}}', 5],
])("%s holds %d values: the contents of strings do not count", (text, values) => {
  expect(hasMoreValuesThan(text, values)).toBe(false);
  expect(hasMoreValuesThan(text, values - 1)).toBe(true);
});

test("a string ends at its closing quote, however many escaped quotes it contains, close together or far apart", () => {
  const piece = fc.oneof(
    fc.constantFrom('"', "\\", '\\"', '"a"', "\n", "\u2014", "plain text ".repeat(8)),
    fc.string({ maxLength: 6 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), fc.string({ maxLength: 6 }), (pieces, before) => {
      const string = JSON.stringify(pieces.join(""));
      expect(endOfString(`${before}${string}, "more"`, before.length)).toBe(before.length + string.length - 1);
      expect(endOfString(string.slice(0, -1), 0)).toBe(-1);
    }),
    { numRuns: 1_000 },
  );
});

/** What the steps give, and how many there were. */
function stepsOf<T>(steps: Generator<undefined, T>): { result: T; steps: number } {
  for (let count = 1; ; count++) {
    const { done, value } = steps.next();
    if (done === true) return { result: value, steps: count };
  }
}

const longStrings = ['\\"'.repeat(2_000_000), `\\"${"far apart, ".repeat(5)}`.repeat(150_000), "\\\\".repeat(99_999)];

test.each(longStrings)("the end of a string of megabytes of escapes is the same in steps (%#)", (inside) => {
  const text = `["${inside}","more"]`;
  expect(stepsOf(closingQuoteInSteps(text, 2)).result).toBe(inside.length + 2);
  expect(stepsOf(closingQuoteInSteps(text.slice(0, inside.length + 2), 2)).result).toBe(-1);
});

test("values are counted in steps, whether strings or what is between them takes long", () => {
  for (const inside of longStrings) {
    const text = `["${inside}",${" ".repeat(3_000_000)}7,8]`;
    expect(stepsOf(hasMoreValuesInSteps(text, 4)).result).toBe(false);
    const { result, steps } = stepsOf(hasMoreValuesInSteps(text, 3));
    expect(result).toBe(true);
    expect(steps).toBeGreaterThan(2);
  }
});

test("text that is not JSON is counted to its end", () => {
  for (const text of ["", '"', '["', ",,,,,,,,,,", "\\\\\\\\\\\\"]) expect(hasMoreValuesThan(text, 100)).toBe(false);
  expect(hasMoreValuesThan(",".repeat(50), 10)).toBe(true);
});
