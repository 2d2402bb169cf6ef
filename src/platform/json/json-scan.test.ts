import { expect, test } from "bun:test";
import { parseInnerJson } from "./json-scan.ts";

const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

test.each([
  ["64 levels", nested(64), "ok"],
  ["65 levels", nested(65), "too_deep"],
  ["200 levels that are no JSON", "[".repeat(200), "too_deep"],
  ["100,000 values", `[${"1,".repeat(99_998)}1]`, "ok"],
  ["100,001 values", `[${"1,".repeat(99_999)}1]`, "too_many_values"],
  ["brackets and commas in a string", JSON.stringify({ command: nested(70) + ",".repeat(200_000) }), "ok"],
  ["text that is no JSON", `{"command": ${" ".repeat(200)}`, "not_json"],
])("JSON within a body is parsed within the limits of a body: %s", (_, text, expected) => {
  const result = () => {
    try {
      parseInnerJson(text);
      return "ok";
    } catch (error) {
      return error instanceof RangeError ? error.message : "not_json";
    }
  };
  expect(result()).toBe(expected);
});
