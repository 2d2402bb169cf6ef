import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { runAtOnce } from "#platform/event-loop-turns.ts";
import { parseJsonInSteps, writeJsonInSteps } from "./json-in-steps.ts";

function stepsOf(steps: Generator<undefined, unknown>): number {
  let count = 0;
  while (steps.next().done !== true) count++;
  return count;
}

const written = (value: object, stepLength: number) =>
  Buffer.concat(runAtOnce(writeJsonInSteps(value, stepLength))).toString();

/** Any UTF-16, halves of surrogate pairs included, with many escapes. */
const anyString = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("\\", '"', "\n", "u", "0", "\ud83d\ude00", "\ud83d", "\u0001", "é", "a") }),
);
const anyJson = fc.letrec<{ value: unknown; object: object }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    anyString,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.constantFrom(null, true, false, -0, 1e21),
    tie("object"),
  ),
  object: fc.oneof(
    fc.array(tie("value"), { maxLength: 20 }),
    fc.dictionary(fc.oneof(anyString, fc.constantFrom("__proto__", "1", "a")), tie("value"), { maxKeys: 20 }),
  ),
})).object;
const anyStepLength = fc.integer({ min: 6, max: 40 });

describe("JSON parsed in steps", () => {
  test("gives the result of JSON.parse, however short the steps are", () => {
    fc.assert(
      fc.property(anyJson, anyStepLength, fc.nat(2), fc.boolean(), (value, stepLength, spaces, escaped) => {
        const plain = JSON.stringify(value, undefined, spaces);
        const text = escaped ? plain.replace(/[^\x20-\x7e\n]/g, unicodeEscape) : plain;
        const parsed = runAtOnce(parseJsonInSteps(text, stepLength));
        expect(parsed).toStrictEqual(JSON.parse(text));
        expect(JSON.stringify(parsed)).toBe(JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: 500 },
    );
  });

  test("is refused if JSON.parse refuses it", () => {
    fc.assert(
      fc.property(
        anyJson,
        anyStepLength,
        fc.nat(),
        fc.constantFrom(...'[]{},:"\\0e-.+ tru\n\tx\v\u00a0'),
        (value, stepLength, place, c) => {
          const whole = JSON.stringify(value);
          const at = place % (whole.length + 1);
          for (const text of [
            whole.slice(0, at),
            whole.slice(0, at) + c + whole.slice(at),
            whole.slice(0, at) + c + whole.slice(at + 1),
          ])
            expect(outcomeOf(() => runAtOnce(parseJsonInSteps(text, stepLength)))).toEqual(
              outcomeOf(() => JSON.parse(text)),
            );
        },
      ),
      { numRuns: 500 },
    );
  });

  test.each([
    "",
    " ",
    "[1,]",
    '{"a":1,}',
    '{"a"}',
    "{,}",
    "[",
    '["',
    "]",
    "01",
    "1.",
    "+1",
    "NaN",
    "undefined",
    '"\t"',
    '"\\x41"',
    "1 2",
    "'a'",
    "\ufeff1",
  ])("%j is refused", (text) => {
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
    expect(() => runAtOnce(parseJsonInSteps(text))).toThrow(SyntaxError);
  });

  test("makes a key named __proto__ an own property, not the prototype", () => {
    const parsed = runAtOnce(parseJsonInSteps('{"__proto__":{"polluted":1},"a":1}')) as object;
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
    expect(Object.keys(parsed)).toEqual(["__proto__", "a"]);
  });

  test("makes a step for every so many characters of a long string, and of many short values", () => {
    expect(stepsOf(parseJsonInSteps(JSON.stringify(['"'.repeat(5_000)]), 1_000))).toBeGreaterThanOrEqual(10);
    expect(stepsOf(parseJsonInSteps(JSON.stringify(Array(500).fill("abc")), 1_000))).toBeGreaterThanOrEqual(5);
    expect(stepsOf(parseJsonInSteps('{"a":[1,2,{"b":"c"}]}'))).toBe(0);
  });
});

describe("JSON written in steps", () => {
  test("gives the result of JSON.stringify, however short the steps are", () => {
    fc.assert(
      fc.property(anyJson, anyStepLength, (value, stepLength) => {
        expect(written(value, stepLength)).toBe(JSON.stringify(value));
      }),
      { numRuns: 500 },
    );
  });

  test("omits undefined values, and keeps numbers in their spelling", () => {
    const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
    const value = { a: undefined, b: rawJSON("12345678901234567890"), c: [rawJSON("1.50"), undefined, {}, []], d: {} };
    for (const stepLength of [6, 1_000]) expect(written(value, stepLength)).toBe(JSON.stringify(value));
  });

  test("makes a step for every so many characters of a long string, and of many short values", () => {
    expect(stepsOf(writeJsonInSteps(['"'.repeat(5_000)], 1_000))).toBeGreaterThanOrEqual(5);
    expect(stepsOf(writeJsonInSteps(Array(1_000).fill({ role: "user" }), 1_000))).toBeGreaterThanOrEqual(10);
    expect(stepsOf(writeJsonInSteps({ a: [1, 2, { b: "c" }] }))).toBe(0);
  });
});

function unicodeEscape(c: string): string {
  return `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function outcomeOf(parse: () => unknown): unknown {
  try {
    return { value: parse() };
  } catch (error) {
    return { error: error instanceof SyntaxError };
  }
}
