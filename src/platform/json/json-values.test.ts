import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Json } from "#domain/chat.ts";
import { endOfString, hasMoreValuesThan } from "./json-values.ts";

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
        // `[]` counts as an array and what might be in it.
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

test("text that is not JSON is counted to its end", () => {
  for (const text of ["", '"', '["', ",,,,,,,,,,", "\\\\\\\\\\\\"]) expect(hasMoreValuesThan(text, 100)).toBe(false);
  expect(hasMoreValuesThan(",".repeat(50), 10)).toBe(true);
});
