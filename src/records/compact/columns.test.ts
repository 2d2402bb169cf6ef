import { expect, test } from "bun:test";
import fc from "fast-check";
import { columnOf, lineOf, valueAt } from "./columns.ts";

const readBack = (values: readonly unknown[]) => {
  const column = JSON.parse(JSON.stringify(columnOf(values)));
  return values.map((_, line) => valueAt(column, line));
};

test("every value of any mixture is read back unchanged", () => {
  const plain = fc.oneof(fc.constantFrom("a", "b", 1, 2.5, true, null), fc.string(), fc.integer());
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      plain,
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom("same", "each", "keys", "items", "lines", "of", "x"), tie("value"), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(fc.array(fc.oneof(value, fc.constant(undefined)), { minLength: 1, maxLength: 12 }), (values) => {
      expect(readBack(values)).toEqual(values);
    }),
  );
});

test("a single line is read with its own values, and no other line's", () => {
  const values = [{ a: 1, list: [1, { b: "x" }] }, { a: 2, list: [undefined] }, "text", undefined, { a: 3, list: [] }];
  for (const lines of [values, values.slice(0, 2)]) {
    const column = columnOf(lines);
    for (const [line, value] of lines.entries()) {
      const alone = JSON.parse(JSON.stringify(lineOf(column, line)));
      expect(valueAt(alone, 0)).toStrictEqual(valueAt(column, line));
      expect(valueAt(alone, 0)).toEqual(value);
    }
  }
  expect(JSON.stringify(lineOf(columnOf(values), 1))).not.toContain("x");
});

test("values that all lines share are written once", () => {
  const values = Array.from({ length: 50 }, (_, n) => ({ id: n, model: "m", list: ["a", { b: "c" }, n] }));
  const text = JSON.stringify(columnOf(values));
  for (const common of ['"m"', '"a"', '"c"', '"list"', '"id"']) expect(text.split(common)).toHaveLength(2);
  expect(readBack(values)).toEqual(values);
});

test("absent values stay absent, in lists too", () => {
  const values = [[undefined, 1], [2, undefined, 3], { a: undefined }, undefined];
  const [first, second, third, fourth] = readBack(values);
  expect(first).toStrictEqual([undefined, 1]);
  expect(second).toStrictEqual([2, undefined, 3]);
  expect(third).toStrictEqual({});
  expect(fourth).toBeUndefined();
});
