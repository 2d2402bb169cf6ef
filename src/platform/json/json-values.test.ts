import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Json } from "#domain/chat.ts";
import { hasMoreValuesThan } from "./json-values.ts";

function valuesIn(value: Json): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, each) => sum + valuesIn(each), 1);
}

test("no more values are counted than there are, and none is missed but empty objects and arrays once each", () => {
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

test("text that is not JSON is counted to its end all the same", () => {
  for (const text of ["", '"', '["', ",,,,,,,,,,", "\\\\\\\\\\\\"]) expect(hasMoreValuesThan(text, 100)).toBe(false);
  expect(hasMoreValuesThan(",".repeat(50), 10)).toBe(true);
});
