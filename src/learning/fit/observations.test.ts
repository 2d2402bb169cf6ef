import { expect, test } from "bun:test";
import type { Outcome } from "#domain/routing.ts";
import { outcomeRecord } from "#learning/fixtures.ts";
import { noSignals, type OutcomeRecord, type Signals } from "#learning/outcomes.ts";
import { trialsIn } from "./observations.ts";

const flash = (id: string, signals: Partial<Signals> = {}, outcome?: Outcome): OutcomeRecord => ({
  ...outcomeRecord(id, 0),
  signals: { ...noSignals, ...signals },
  ...(outcome === undefined ? {} : { outcome }),
});
const retry = (id: string, retryOf: string, signals: Partial<Signals> = {}): OutcomeRecord => ({
  ...outcomeRecord(id, 1, { tier: "pro", retryOf }),
  signals: { ...noSignals, ...signals },
});
const resultOf = (...records: OutcomeRecord[]) => trialsIn(records).map(({ failed, rescued }) => ({ failed, rescued }));
const escalated = { escalated: true };

test.each([
  ["nothing is heard of it", flash("a"), false, undefined],
  ["a failure was reported", flash("a", { reported: 1 }), true, undefined],
  ["it was asked again", flash("a", { repeated: 1 }), true, undefined],
  ["the caller says that it was solved all the same", flash("a", { reported: 1 }, "solved"), false, undefined],
  ["it escalated and nothing more was heard", flash("a", escalated), true, undefined],
  ["it escalated and the caller went on", flash("a", { ...escalated, wentOn: true }), true, true],
  ["it escalated and failed again", flash("a", { ...escalated, failedAfter: 1 }), true, false],
  ["it escalated and the caller is content", flash("a", escalated, "solved"), true, true],
])("the result of flash and pro in a record when %s", (_, record, failed, rescued) => {
  expect(resultOf(record)).toEqual([{ failed, rescued }]);
});

test("a retry on pro of a failure of flash is a rescue trial; a retry of a success is not", () => {
  const failed = flash("a", { reported: 1 });
  expect(resultOf(failed, retry("b", "a"))).toEqual([{ failed: true, rescued: true }]);
  expect(resultOf(failed, retry("b", "a", { repeated: 1 }))).toEqual([{ failed: true, rescued: false }]);
  expect(resultOf(flash("a"), retry("b", "a"))).toEqual([{ failed: false, rescued: undefined }]);
  expect(resultOf(retry("b", "elsewhere"))).toEqual([]);
});

test("a record counts by the inverse of the probability with which its tier was chosen, up to 20", () => {
  const chosen = (probability: number) => outcomeRecord("a", 0, { probability });
  expect(trialsIn([chosen(1), chosen(0.25), chosen(0.001)]).map(({ weight }) => weight)).toEqual([1, 4, 20]);
});
