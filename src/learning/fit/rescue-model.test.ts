import { expect, test } from "bun:test";
import { outcomeRecord } from "#learning/outcomes/fixtures.ts";
import { noSignals, type Outcome, type OutcomeRecord, type Signals } from "#learning/outcomes/outcomes.ts";
import { benefitOf, fitRescueModel, observationsIn } from "./rescue-model.ts";

const flash = (id: string, signals: Partial<Signals> = {}, outcome?: Outcome): OutcomeRecord => ({
  ...outcomeRecord(id, 0),
  signals: { ...noSignals, ...signals },
  ...(outcome === undefined ? {} : { outcome }),
});
const retry = (id: string, retryOf: string, signals: Partial<Signals> = {}): OutcomeRecord => ({
  ...outcomeRecord(id, 1, { tier: "pro", retryOf }),
  signals: { ...noSignals, ...signals },
});
const said = (records: readonly OutcomeRecord[]) => {
  const { failures, rescues } = observationsIn(records);
  return { failed: failures.map(({ positive }) => positive), solved: rescues.map(({ positive }) => positive) };
};

test.each([
  ["nothing is heard of it", flash("a"), { failed: [false], solved: [] }],
  ["a failure was reported", flash("a", { reported: 1 }), { failed: [true], solved: [] }],
  ["it was asked again", flash("a", { repeated: 1 }), { failed: [true], solved: [] }],
  [
    "the caller says that it was solved all the same",
    flash("a", { reported: 1 }, "solved"),
    { failed: [false], solved: [] },
  ],
  ["it escalated and nothing more was heard", flash("a", { escalated: true }), { failed: [true], solved: [] }],
  [
    "it escalated and the caller went on",
    flash("a", { escalated: true, wentOn: true }),
    { failed: [true], solved: [true] },
  ],
  [
    "it escalated and failed again",
    flash("a", { escalated: true, failedAfter: 1 }),
    { failed: [true], solved: [false] },
  ],
  [
    "it escalated and the caller is content",
    flash("a", { escalated: true }, "solved"),
    { failed: [true], solved: [true] },
  ],
])("what a record says of flash and pro when %s", (_, record, expected) => {
  expect(said([record])).toEqual(expected);
});

test("a retry on pro of what flash has failed at is a rescue trial; one of what it has solved is none", () => {
  const failed = flash("a", { reported: 1 });
  expect(said([failed, retry("b", "a")])).toEqual({ failed: [true], solved: [true] });
  expect(said([failed, retry("b", "a", { repeated: 1 })])).toEqual({ failed: [true], solved: [false] });
  expect(said([flash("a"), retry("b", "a")])).toEqual({ failed: [false], solved: [] });
  expect(said([retry("b", "elsewhere")])).toEqual({ failed: [], solved: [] });
});

test("a record counts by the inverse of the probability with which its tier was chosen, up to 20", () => {
  const chosen = (probability: number) => outcomeRecord("a", 0, { probability });
  const weights = observationsIn([chosen(1), chosen(0.25), chosen(0.001)]).failures.map(({ weight }) => weight);
  expect(weights).toEqual([1, 4, 20]);
});

test("asks that flash fails and pro solves are worth more than those that both fail; too few trials fit nothing", () => {
  const at = (record: OutcomeRecord, score: number): OutcomeRecord => ({
    ...record,
    decision: { ...record.decision, score },
  });
  const records = Array.from({ length: 60 }, (_, n) => [
    at(flash(`easy${n}`), 10),
    at(flash(`rescued${n}`, { escalated: true, wentOn: true }), 50),
    at(flash(`hopeless${n}`, { escalated: true, failedAfter: 1 }), 95),
  ]).flat();
  const model = fitRescueModel(records);
  if (model === undefined) throw new Error("enough trials");
  const worth = (score: number) => benefitOf(model, outcomeRecord("x", 0, { score }).decision);
  expect(model.trials).toBe(120);
  expect(worth(50)).toBeGreaterThan(worth(95));
  expect(worth(50)).toBeGreaterThan(worth(10));
  expect(fitRescueModel(records.slice(0, 87))).toBeUndefined();
});
