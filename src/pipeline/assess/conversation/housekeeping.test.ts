import { describe, expect, test } from "bun:test";
import type { JsonObject } from "#domain/chat.ts";
import { assessed, newMemory, policy, step } from "#pipeline/assess/fixtures.ts";
import { hardRules } from "#pipeline/decide/rules/hard-rules.ts";
import { jsonLines } from "#platform/testing/json-lines.ts";

const system = (content: string): JsonObject => ({ role: "system", content });
const user = (content: string): JsonObject => ({ role: "user", content });
const highRisk = "Rotate the signing keys of the login tokens in production and drop the old users table.";
const kindIn = (messages: JsonObject[], tools?: string[]) =>
  assessed({ messages, ...(tools && { tools }) }).housekeeping;

describe("housekeeping is recognised by what it requests", () => {
  test.each(jsonLines<[string, JsonObject[]]>(import.meta.dir, "fixtures/housekeeping.jsonl"))(
    "%s: %p",
    (kind, messages) => {
      expect(kindIn(messages)).toBe(kind as never); // a word of the union, from the table
    },
  );

  test.each(jsonLines<string>(import.meta.dir, "fixtures/user-asks.jsonl"))(
    "an ask of the user is not housekeeping: %s",
    (ask) => {
      expect(kindIn([user(ask)])).toBeUndefined();
    },
  );

  test.each([
    "You analyze memory dumps of crashed servers. Answer in JSON.",
    "You extract the cause of a failure and repair it. Only touch files of the memory system.",
  ])("nor is the work that a system prompt speaks of: %s", (prompt) => {
    expect(kindIn([system(prompt), user(highRisk)])).toBeUndefined();
  });

  test("a call that offers tools is not housekeeping", () => {
    const messages = [system("Generate concise conversation titles."), user(highRisk)];
    expect(kindIn(messages, ["bash"])).toBeUndefined();
  });
});

describe("housekeeping never escalates", () => {
  const title = [
    system("You are a title generator. You output ONLY a thread title."),
    user(`[reasoning:high] ${highRisk}`),
  ];

  test("whatever words are in the text that it names", () => {
    const { task, runtime, evidence } = assessed({ messages: title });
    expect(task).toMatchObject({ kind: "SUMMARIZE", risk_level: "LOW", blast_radius: "LOW", reasoning: "AUTO" });
    expect(hardRules.filter((rule) => rule.sees(task, runtime, policy.hard_rules) !== undefined)).toEqual([]);
    expect(evidence).toContain("housekeeping=title");
  });

  test("and it neither inherits nor adds to a task's trouble", () => {
    const memory = newMemory();
    const routing = { sessionId: "s", taskId: "t" };
    for (let n = 0; n < 3; n++) {
      assessed({ ask: `try ${n}`, routing: { ...routing, failureClass: "STRUCTURAL" } }, memory);
    }
    expect(assessed({ messages: title, routing }, memory).runtime).toMatchObject({
      attempts: 0,
      failure_class: "NONE",
    });
    expect(assessed({ ask: "again", routing }, memory).runtime.attempts).toBe(3);
  });

  test("fields that the caller states still apply", () => {
    const said = { taskFields: { kind: "AUTH", risk_level: "HIGH" }, reasoning: "high" } as const;
    expect(assessed({ messages: title, routing: said }).task).toMatchObject({
      kind: "AUTH",
      risk_level: "HIGH",
      reasoning: "HIGH",
    });
  });
});

test("compaction of a long session continues its task", () => {
  const ask = user("Design a distributed job queue with exactly-once delivery.");
  const run = [
    ask,
    ...step("bash", { command: "ls" }, "a"),
    ...step("bash", { command: "cat a" }, "b"),
    ...step("edit", {}, "ok"),
  ];
  const compact = user(
    "Your task is to create a detailed summary of the conversation so far, paying close attention to the asks.",
  );
  const { kind, reasoning_requirement } = assessed({ messages: run }).task;
  expect(assessed({ messages: [...run, compact] }).task).toMatchObject({
    instruction: ask["content"],
    kind,
    reasoning_requirement,
  });
  expect(assessed({ messages: [compact] }).task.instruction).toContain("detailed summary");
});
