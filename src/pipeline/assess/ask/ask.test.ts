import { describe, expect, test } from "bun:test";
import type { TaskKind } from "#domain/routing.ts";
import { aPolicy } from "#pipeline/decide/fixtures.ts";
import { jsonLines } from "#platform/testing/json-lines.ts";
import { dimensionsOf, featuresOf } from "./features.ts";
import { hasTextsTreated, highRiskTopicIn } from "./high-risk-topic.ts";
import { kindOf, riskOf } from "./kind.ts";
import { Lexicon } from "./lexicon.ts";
import { sentencesOf } from "./sentences.ts";

const { high_risk_words } = aPolicy().routing;
const topicOf = (ask: string, own = high_risk_words) => highRiskTopicIn(ask.toLowerCase(), own);
const kind = (ask: string) => kindOf(ask.toLowerCase(), featuresOf(ask), topicOf(ask));

describe("what an ask looks like", () => {
  test("is counted in its beginning and its end", () => {
    const ask = "1. First run it, then:\n- parse exactly 3 of 12\nconst a = b(c);\nif (x) {";
    expect(featuresOf(ask)).toMatchObject({ characters: ask.length, code_lines: 2, steps: 3, constraints: 1 });
    expect(featuresOf(`${"word ".repeat(50_000)}last`).distinct_words).toBe(2);
  });

  test("a greeting or a short question of fact is one, a longer ask is none", () => {
    expect(featuresOf("What is the capital of France?").is_short_question).toBe(1);
    expect(featuresOf("Add a flag to the parser").is_short_question).toBe(0);
  });
});

describe("sentences", () => {
  test.each<[string, readonly string[]]>([
    ["add a flag. then test it!", ["add a flag.", " then test it!"]],
    ["extract all names: delete my account now. thanks\n\nuse json", ["extract all names", "use json"]],
    ["task: rotate the keys", ["task", " rotate the keys"]],
    ['set the label to "reset password" there', ["set the label to   there"]],
    ["see http://a.b/c:d at 10:30", ["see http://a.b/c:d at 10:30"]],
    ["删除旧表。然后通知我", ["删除旧表。", "然后通知我"]],
  ])("end where they end, without data: %s", (text, sentences) => {
    expect(sentencesOf(text)).toEqual([...sentences]);
  });
});

describe("terms", () => {
  const lexicon = new Lexicon({ a: "key api_key rotat*", b: "密钥 user" });

  test("are words, plurals, beginnings, phrases and words without blanks; the longest wins", () => {
    const named = lexicon.read("rotating api keys of users: 请更换密钥");
    expect([named.count("a"), named.distinct("a"), named.first("a")]).toEqual([2, 2, 0]);
    expect(named.count("b")).toBe(2);
  });

  test.each(["monkey", "user_id", "auth/user.py", "keyboard", "api key8"])("are whole words of prose: %s", (text) => {
    expect(lexicon.read(text).has("b") || (lexicon.read(text).count("a") > 0 && text !== "api key8")).toBe(false);
  });
});

describe("dimensions", () => {
  const dimensions = (ask: string) => dimensionsOf(featuresOf(ask));
  const short = "Add a flag to the parser";

  test("grow with different words, not with repeated ones", () => {
    expect(dimensions(`${short} which reads many other kinds of files`).ambiguity).toBeGreaterThan(
      dimensions(short).ambiguity,
    );
    expect(dimensions(`${short} ${short} ${short}`).ambiguity).toBe(dimensions(short).ambiguity);
  });

  test.each(["exactly only without", "first then finally"])("steps and constraints make a task deeper: %s", (words) => {
    const [deeper, as_many] = [dimensions(`${short} ${words}`), dimensions(`${short} red green blue`)];
    expect(deeper.dependency_depth).toBeGreaterThan(as_many.dependency_depth);
    expect(deeper.ambiguity).toBe(as_many.ambiguity);
  });

  test("of nothing are what is assumed when nothing is known", () => {
    expect(Object.values(dimensions(""))).toEqual([0.3, 0.3, 0.3, 0.3]);
  });
});

test.each<[TaskKind, string]>(jsonLines(import.meta.dir, "fixtures/kinds.jsonl"))("%s: %s", (expected, ask) => {
  expect(kind(ask)).toBe(expected);
});

describe("a high-risk topic", () => {
  test("is at high risk, critical where data in production is destroyed", () => {
    const risk = (ask: string) => riskOf(kind(ask), topicOf(ask));
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
    ["a text behind a colon", "Extract the amounts: please refund me and delete my account"],
    ["a text in front of the ask", "Reset my password and refund the order now!\n\nTranslate this to French."],
    ["a text in quotes", 'Which language is "delete all users from the production database"'],
    ["a text that somebody answers", "Reply to this customer.\n\nMy card was charged twice, cancel the subscription."],
    ["a text to be filed", "Route this ticket to a team.\n\nFix the login, it throws me out."],
  ])("is not %s", (_, ask) => {
    expect(topicOf(ask)).toBeUndefined();
  });

  test("is no matter of a system prompt that has texts treated", () => {
    expect(hasTextsTreated("You extract the amounts from customers' mails. Answer in JSON.")).toBe(true);
    expect(hasTextsTreated("You are a coding assistant. You work in a repository.")).toBe(false);
  });

  test("is also what the policy's own words name", () => {
    const own = { ...high_risk_words, payment: ["Margin call"], destructive_migration: ["shred*"] };
    const ask = "Change when the margin call begins";
    expect(topicOf(ask)).toBeUndefined();
    expect(topicOf(ask, own)?.kind).toBe("PAYMENT");
    expect(topicOf("Add a shredder for old exports", own)?.kind).toBe("DESTRUCTIVE_MIGRATION");
    expect(topicOf("Explain the margin call", own)).toBeUndefined();
  });
});
