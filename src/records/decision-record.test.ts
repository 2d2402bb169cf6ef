import { describe, expect, test } from "bun:test";
import { Counterfactual, DecisionRecord, DecisionStage, ExplainedDecision } from "./decision-record.ts";
import { aDecisionRecord, someInputs } from "./fixtures.ts";
import { seriesKeys, seriesMetrics } from "./records.ts";

describe("a decision record", () => {
  test("is JSON: its schema reads back what was written", () => {
    const record = aDecisionRecord(1);
    expect(DecisionRecord.parse(JSON.parse(JSON.stringify(record)))).toEqual(record);
    const explanation = {
      sentence: "Went to flash.",
      stages: [DecisionStage.parse({ stage: "score", verdict: "flash", decided: true, would: null, evidence: [] })],
      would_change: [
        Counterfactual.parse({
          input: "score",
          from: "22.5",
          to: "90",
          leads_to: "pro",
          cause: "gray_zone_pro",
          sentence: "At 90 points: pro.",
        }),
      ],
    };
    expect(ExplainedDecision.parse({ ...record, explanation }).explanation).toEqual(explanation);
  });

  test("has no field for text: its inputs are numbers, enum words and model keys", () => {
    const { inputs } = DecisionRecord.parse({
      ...aDecisionRecord(1),
      inputs: { ...someInputs, task: { ...someInputs.task, instruction: "the secret plan" } },
    });
    expect(JSON.stringify(inputs)).not.toContain("secret");
  });

  test("has the fields by which it is summed and charted", () => {
    const record = DecisionRecord.parse(aDecisionRecord(1));
    for (const key of seriesKeys) expect(record).toHaveProperty(key);
    expect(new Set(seriesMetrics).size).toBe(seriesMetrics.length);
  });
});
