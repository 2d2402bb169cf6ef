import { describe, expect, test } from "bun:test";
import type { TaskKind } from "#domain/routing.ts";
import { aPolicy } from "#pipeline/decide/fixtures.ts";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { readAskText } from "./ask-text.ts";
import { dimensionsOf } from "./dimensions.ts";
import { guardedIn } from "./guarded.ts";
import { kindOf, riskOf } from "./kind.ts";
import { Vocabulary } from "./terms.ts";

const { ask_weights, guarded_words } = aPolicy().routing;
const guarded = (ask: string, own = guarded_words) => guardedIn(readAskText(ask), own);
const kind = (ask: string) => kindOf(readAskText(ask), guarded(ask));

describe("what an ask looks like", () => {
  test("is counted in its beginning and its end", () => {
    const ask =
      "1. Run `npm i`, then:\n```\nconst a = b(c);\n```\n- parseAll fails on 3 of 12\nA. x^2 + 1\n   at f (x.js:1)";
    expect(readAskText(ask).features).toMatchObject({
      characters: ask.length,
      code_lines: 2,
      trace_lines: 1,
      list_items: 2,
      options: 1,
      commas: 1,
    });
    expect(readAskText(`${"word ".repeat(50_000)}last`).words.at(-1)?.text).toBe("last");
  });

  test.each([
    ["names of programs", "rename user_id in auth/login.py", ["rename", "in"]],
    ["code", "fix this\n```\nlogin(password)\n```", ["fix", "this"]],
    ["lines of a log", "why?\n2026-01-02 10:00:00 ERROR payment failed", ["why"]],
    ["what a label is to say", 'change the title to "Payment"', ["change", "the", "title"]],
    ["placeholders of credentials", "use [REDACTED:api_key:1] here", ["use", "here"]],
  ])("%s are no words of the ask", (_, ask, words) => {
    expect(readAskText(ask).words.map(({ text }) => text)).toEqual(words);
  });
});

describe("terms", () => {
  const vocabulary = new Vocabulary({ a: "key api_key rotat*", b: "密钥 user" });
  const read = (ask: string) => vocabulary.read(readAskText(ask));

  test("are words, plurals, beginnings, joined words and words without blanks; the longest wins", () => {
    const named = read("Rotating API keys of users: 请更换密钥");
    expect([named.count("a"), named.distinct("a"), named.first("a")]).toEqual([2, 2, 0]);
    expect(named.count("b")).toBe(2);
    expect(read("monkey").first("a")).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("dimensions", () => {
  const dimensions = (ask: string) => dimensionsOf(readAskText(ask), ask_weights);
  const short = "Add a flag to the parser";

  test("grow with different words, not with repeated ones", () => {
    expect(dimensions(`${short} which reads many other kinds of files`).ambiguity).toBeGreaterThan(
      dimensions(short).ambiguity,
    );
    expect(dimensions(`${short} ${short} ${short}`).ambiguity).toBe(dimensions(short).ambiguity);
  });

  test.each([
    ["formulas", "x^2 = 4 + y", "reasoning_requirement"],
    ["technical words", "algorithm protocol", "ambiguity"],
    ["constraints", "exactly without", "dependency_depth"],
    ["steps", "first then finally", "dependency_depth"],
  ] as const)("%s count as the policy says", (_, words, dimension) => {
    const text = readAskText(`${short} ${words}`);
    const none = { ...ask_weights, formulas: 0, technical_words: 0, constraints: 0, steps: 0 };
    expect(dimensionsOf(text, ask_weights)[dimension]).toBeGreaterThan(dimensionsOf(text, none)[dimension]);
  });

  test("of nothing are what is assumed when nothing is known", () => {
    expect(Object.values(dimensions(""))).toEqual([0.3, 0.3, 0.3, 0.3]);
  });
});

test.each<[TaskKind, string]>(jsonLines(import.meta.dir, "fixtures/kinds.jsonl"))("%s: %s", (expected, ask) => {
  expect(kind(ask)).toBe(expected);
});

describe("a guarded topic", () => {
  test("is at high risk, critical where data in production is destroyed", () => {
    const risk = (ask: string) => riskOf(kind(ask), guarded(ask));
    expect(risk("Let users sign in with their Google account")).toEqual({ risk_level: "HIGH", blast_radius: "MEDIUM" });
    expect(risk("Rotate the signing keys in production")).toEqual({ risk_level: "HIGH", blast_radius: "HIGH" });
    expect(risk("Drop the orders table in production").risk_level).toBe("CRITICAL");
    expect(risk("Add a flag to the parser")).toEqual({ risk_level: "LOW", blast_radius: "LOW" });
  });

  test.each([
    ["a question", "How do I rotate the signing keys?"],
    ["a list", "List all endpoints that need authentication"],
    ["documentation", "Write docs for the payment module"],
    ["a test", "Add a test for the password reset"],
    ["the looks of it", "Make the login button blue"],
    ["a sum", "She pays 20 dollars a month for her subscription. How much does she pay in a year?"],
    ["a quiz", "Which protocol encrypts passwords?\nA. HTTP\nB. TLS\nC. FTP"],
    ["one part of something larger", "Build a blog with comments, tags, authentication, and an RSS feed"],
    [
      "a long report",
      `The page is slow since the upgrade. ${"It loads many images of all sizes. ".repeat(8)} Our login is fine.`,
    ],
    ["data in memory", "Drop the rows with missing values from this data frame"],
    ["a name in a program", "Rename authToken to token in login.py"],
  ])("is not %s", (_, ask) => {
    expect(guarded(ask)).toBeUndefined();
  });

  test("is also what the policy's own words name", () => {
    const own = { ...guarded_words, payment: ["Margin call"], destructive_migration: ["shred*"] };
    const ask = "Change when the margin call begins";
    expect(guarded(ask)).toBeUndefined();
    expect(guarded(ask, own)?.kind).toBe("PAYMENT");
    expect(guarded("Add a shredder for old exports", own)?.kind).toBe("DESTRUCTIVE_MIGRATION");
    expect(guarded("Explain the margin call", own)).toBeUndefined();
  });
});
