import { expect, test } from "bun:test";
import { type AskFeatures, askFeaturesOf } from "./features.ts";

const shapes: readonly (readonly [what: string, ask: string, expected: Partial<AskFeatures>])[] = [
  ["nothing in words alone", "please say where it is used", { identifiers: 0, numbers: 0, commas: 0, mathSigns: 0 }],
  [
    "camel case, snake case and words in backticks",
    "rename parseDate, to_iso and `now`",
    { identifiers: 3, commas: 1 },
  ],
  ["capitals that begin a word are no name", "Rename It, NOW", { identifiers: 0 }],
  ["a number once, with its fraction and its digits", "from 12.5 to 130", { numbers: 2 }],
  ["list items, and answers to choose from", "- one\n* two\n1. three\nA. four\nB) five", { listItems: 3, options: 2 }],
  ["frames of a stack trace", '   at f (x.js:1)\nFile "x.py", line 3', { traceLines: 2 }],
  ["lines that end as code does", "if (a) {\n  b = c(1);\n}\nf(x);  \r\nf(x); // no", { codeLines: 3 }],
  ["signs of formulas", "x^2 = \\frac √2", { mathSigns: 3.5 }],
  ["characters of scripts without blanks", "日本、の", { denseCharacters: 3, verbLast: true, commas: 1 }],
  [
    "a language that puts its verb last, in letters that are not dense",
    "한국어",
    { denseCharacters: 0, verbLast: true },
  ],
  ["Chinese puts its verb elsewhere", "修复登录", { denseCharacters: 4, verbLast: false }],
];

for (const [what, ask, expected] of shapes) {
  test(`counts ${what}`, () => {
    expect(askFeaturesOf(ask)).toMatchObject(expected);
  });
}

test("long asks that differ in their middle alone, which nobody reads, differ in their length", () => {
  const ask = (length: number) => `fix the bug ${"x".repeat(length)} in parseDate`;
  expect(askFeaturesOf(ask(9_000)).characters).toBe(ask(9_000).length);
  expect(askFeaturesOf(ask(9_001)).characters).toBe(ask(9_001).length);
});
