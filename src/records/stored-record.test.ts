import { expect, test } from "bun:test";
import { DecisionRecord } from "./decision-record.ts";
import { aStoredRecord } from "./fixtures.ts";
import { completeRecord } from "./stored-record.ts";

test("what a stored record leaves out is filled in: what is usual, and what its attempts and its evidence say", () => {
  const stored = aStoredRecord(1);
  const [attempt] = stored.attempts;
  const evidence = ["hard_rule=files_touched", "hard_rule=tool_depth", "points_ambiguity=4.5", "points=22.5"];
  const failed = { number: 1, model: "m", outcome: "timed_out", started_ms: 1, duration_ms: 2, hold_nano_usd: 5 };
  const { points, contributions, ...rest } = stored;
  const attempts = [failed, { ...attempt!, generation_id: "g1", host: "h" }, { ...attempt!, host: "i" }];
  const record = completeRecord({ ...rest, evidence, attempts });
  expect(DecisionRecord.parse(record)).toEqual(record);
  expect(record).toMatchObject({
    ...{ rule: "files_touched, tool_depth", points: 22.5, contributions: [{ name: "ambiguity", value: 4.5 }] },
    ...{ generation_ids: ["g1"], upstream_host: "i", cost_source: "usage", hold_nano_usd: 18_000_005 },
    tokens: { prompt: 200, completion: 100 },
    ...{ route: "chat_completions", cost_state: "known", repeated: 1, task: null, redactions: [], health: {} },
    attempts: [{ purpose: "EXECUTE", upstream_status: null, tokens: null }, { upstream_status: 200, reason: null }, {}],
    inputs: { task: { sensitive: true, hint: "auto" }, runtime: { failure_class: "NONE" }, unroutable: [] },
  });
});

test("a record of an earlier release, in which nothing is left out, is read as it is", () => {
  const before = { ...completeRecord(aStoredRecord(1)), rule: "tool_depth", tokens: null, cost_source: "hold" };
  expect(completeRecord(JSON.parse(JSON.stringify(before)))).toEqual(before);
});
