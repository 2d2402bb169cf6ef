import { describe, expect, test } from "bun:test";
import { aTask } from "#pipeline/decide/fixtures.ts";
import { isHousekeeping } from "./housekeeping.ts";

const body = { messages: [{ role: "user" as const, content: "hello" }] };
const tools = [{ type: "function", function: { name: "read" } }];
const judged = (kind: "SUMMARIZE" | "CLASSIFY" | "CODING", requestedOutputTokens: number | null, more: object = {}) =>
  isHousekeeping({ body: { ...body, ...more }, requestedOutputTokens }, { task: aTask({ kind }) });

describe("housekeeping", () => {
  test("is a call without tools that summarizes, classifies, or allows a short answer only", () => {
    expect(judged("SUMMARIZE", null)).toBe(true);
    expect(judged("CLASSIFY", 32_000, { tools: [] })).toBe(true);
    expect(judged("CODING", 200)).toBe(true);
  });

  test("is nothing that offers tools, and no work of unbounded or ample length", () => {
    expect(judged("SUMMARIZE", 200, { tools })).toBe(false);
    expect(judged("SUMMARIZE", 200, { functions: [{ name: "read" }] })).toBe(false);
    expect(judged("CODING", null)).toBe(false);
    expect(judged("CODING", 4_096)).toBe(false);
  });
});
