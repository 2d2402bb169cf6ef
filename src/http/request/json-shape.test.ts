import { expect, test } from "bun:test";
import fc from "fast-check";
import { runAtOnce } from "#platform/event-loop-turns.ts";
import { hasMoreValuesThan } from "#platform/json/json-values.ts";
import { quoteLongIntegers, shapeOfJson, shapeOfJsonInSteps } from "./json-shape.ts";

test("depth is counted outside strings only", () => {
  expect(shapeOfJson('[[["[[[["]]]', 3).tooDeep).toBe(false);
  expect(shapeOfJson("[[[[]]]]", 3).tooDeep).toBe(true);
  expect(shapeOfJson('{"a":"\\"[[[["}', 1).tooDeep).toBe(false);
});

test("the shape of a text of megabytes is the same in steps, whatever takes long in it", () => {
  const quotes = '\\"'.repeat(400_000);
  const spaces = " ".repeat(2_500_000);
  const texts = [
    `{"a":"${quotes}","cache_control":1e5}`,
    `{"a":"${quotes}","b":[${spaces}"prompt_cache_breakpoint",{"c":"${quotes}"}]${spaces}}`,
    `[${"1,".repeat(900_000)}1234567890123456789]`,
    `[1e400,"${quotes}`,
    `[[[["${quotes}${quotes}",[[]]]]]]`,
    `${"[".repeat(3)}${spaces}"${quotes}"`,
  ];
  for (const text of texts) {
    for (const [maxDepth, maxValues] of [
      [64, 1_000_000],
      [4, 3],
      [5, 700_000],
    ] as const) {
      let steps = 0;
      const scanning = shapeOfJsonInSteps(text, maxDepth, maxValues);
      let next = scanning.next();
      for (; next.done !== true; next = scanning.next()) steps++;
      expect(next.value).toEqual(shapeOfJson(text, maxDepth, maxValues));
      if (maxValues > 900_000 && text.length > 1_100_000) expect(steps).toBeGreaterThan(0);
    }
  }
});

test("values are counted before a text is parsed as they are after it", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 3 }), fc.integer({ min: 1, max: 12 }), (text, limit) => {
      expect(shapeOfJson(text, 64, limit).tooManyValues).toBe(hasMoreValuesThan(text, limit));
    }),
  );
});

test("a serialized body is never longer than the bound from its size and its exponents", () => {
  const number = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc.tuple(fc.integer({ min: -999, max: 999 }), fc.integer({ min: -30, max: 30 })).map(([a, b]) => `${a}e${b}`),
    fc.tuple(fc.nat(9), fc.nat(20)).map(([a, b]) => `${a}E+${b}`),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string(), number)), (pairs) => {
      const text = `[${pairs.map(([key, value]) => `{${JSON.stringify(key)}:${value}}`).join(",")}]`;
      const bound = Buffer.byteLength(text) + 24 * shapeOfJson(text, 64).exponents;
      expect(Buffer.byteLength(JSON.stringify(JSON.parse(text)))).toBeLessThanOrEqual(bound);
    }),
  );
});

test("every integer that a double cannot hold is found and quoted, and nothing else is changed", () => {
  const integer = fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }).map(String);
  const other = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc.string().map((text) => JSON.stringify(text)),
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(integer, other)), (values) => {
      const text = `[${values.join(", ")}]`;
      const quoted = values.map((value) => (/^-?\d{16,}$/.test(value) ? `"${value}"` : value));
      expect(runAtOnce(quoteLongIntegers(text))).toBe(`[${quoted.join(", ")}]`);
      for (const value of values) {
        if (/^-?\d+$/.test(value) && BigInt(Number(value)) !== BigInt(value))
          expect(shapeOfJson(text, 64).longIntegers).toBe(true);
      }
    }),
  );
});

test.each([
  ['{"cache_control":{"type":"ephemeral"}}', true],
  ['{"tools":[{"function":{"cache_control" : 1}}]}', true],
  ['{"\\u0063ache_contro\\u006C":1}', true],
  ['{"content":[{"prompt_cache_breakpoint":{"mode":"explicit"}}]}', true],
  ['{"prompt\\u005fcache_breakpoint":1}', true],
  ['{"prompt_cache_breakpoints":1}', false],
  ['{"a":"he said \\"cache_control\\": 1"}', false],
  ['{"a":"cache_control is a field"}', false],
  ['{"cache_contro":1,"cache_controls":1,"Cache_control":1}', false],
])("the scan finds whether %s asks for cache writes", (text, expected) => {
  expect(shapeOfJson(text, 64).cacheControl).toBe(expected);
});

test("a number too large for a double is found anywhere, and no other number is", () => {
  const number = fc.oneof(
    fc.tuple(fc.integer(), fc.integer({ min: -400, max: 400 })).map(([a, b]) => `${a}e${b}`),
    fc.tuple(fc.nat(9), fc.integer({ min: 100, max: 400 })).map(([digit, count]) => `1${String(digit).repeat(count)}`),
    fc.tuple(fc.integer({ min: 1, max: 400 }), fc.nat(400)).map(([count, b]) => `1${"0".repeat(count)}.5E+${b}`),
    fc.integer({ min: 1, max: 400 }).map((count) => `-0.${"1".repeat(count)}e-5`),
    fc.constantFrom("1e400", "-1E400", "1e308", "1.8e308", "0e999", "1e0000308", "1e-999", "17e307", "18e307"),
  );
  const text = fc.constantFrom('"1e400"', '"\\"1e999"', '"e999"', "true", "false", "null");
  fc.assert(
    fc.property(fc.array(fc.oneof(number, text)), (values) => {
      const json = `{"a":[${values.join(",")}]}`;
      const infinite = JSON.parse(json).a.some(
        (value: unknown) => Math.abs(Number(value)) === Infinity && typeof value === "number",
      );
      expect(shapeOfJson(json, 64).infinite).toBe(infinite);
    }),
  );
});

test("the number of inspected numbers is bounded", () => {
  expect(shapeOfJson(`[${"1e308,".repeat(10_000)}1]`, 64).infinite).toBe(false);
  expect(shapeOfJson(`[${"1e308,".repeat(10_001)}1]`, 64).infinite).toBe(true);
});
