import { describe, expect, test } from "bun:test";
import { aDecisionRecord } from "#records/fixtures.ts";
import { decisionLines } from "./decision-text.ts";

describe("lines of decisions", () => {
  const long = `nightly-run-of-the-build-farm/${"find-what-broke-".repeat(4)}`;
  const records = [
    aDecisionRecord(1, { recorded_ms: Date.now(), goal: "adhoc" }),
    aDecisionRecord(2, { recorded_ms: Date.now() - 40 * 86_400_000, goal: "s1/refactor" }),
    aDecisionRecord(3, { alias: "smart-router-flash", cost_nano_usd: 123_456_789_000, rule: "same_error_count" }),
    aDecisionRecord(4, { goal: long, cause: "budget_hard_cap_exceeded" }),
  ];

  test("have aligned columns, whatever their content", () => {
    const lines = decisionLines(records);
    const goals = ["adhoc", "s1/refactor", "s1/refactor", long.slice(0, 39)];
    expect(new Set(lines.map((line, at) => line.indexOf(goals[at] ?? "")))).toHaveLength(1);
    expect(new Set(lines.map((line) => line.indexOf("smart-router")))).toHaveLength(1);
    expect(new Set(lines.map((line) => line.length))).toHaveLength(1);
    expect(lines[3]).toContain(`${long.slice(0, 39)}…`);
  });

  test("show whether a cost is estimated or not known yet", () => {
    const costs = (["known", "estimated", "unknown"] as const).map((cost_state, at) => {
      const [line] = decisionLines([aDecisionRecord(at, { cost_state, cost_nano_usd: 4_100_000 })]);
      return /(\S*\$0\.0041|\?) /.exec(line ?? "")?.[1];
    });
    expect(costs).toEqual(["$0.0041", "~$0.0041", "?"]);
  });
});
