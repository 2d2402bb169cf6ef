import { expect, test } from "bun:test";
import { manualTime } from "#platform/testing/manual-time.ts";
import { OutcomeReports } from "./outcome-reports.ts";
import type { ReportedOutcome } from "./records.ts";

const failed = (decisionId: string): ReportedOutcome => ({ decisionId, outcome: "failed", score: null });
const solved = (decisionId: string): ReportedOutcome => ({ ...failed(decisionId), outcome: "solved" });

/** A store in which decisions `u…` are unknown, and all of one first letter stand in one block. */
function reports() {
  const time = manualTime();
  const writes: (readonly string[])[] = [];
  const stored = new Map<string, string>();
  const all = new OutcomeReports(async (first, waiting) => {
    writes.push(first);
    const blocks = new Set(first.map((id) => id[0]));
    const known = [...waiting.values()].filter(({ decisionId: id }) => blocks.has(id[0]) && !id.startsWith("u"));
    for (const { decisionId, outcome } of known) stored.set(decisionId, outcome);
    return new Set(known.map(({ decisionId }) => decisionId));
  }, time);
  return { time, all, writes, stored };
}

test("reports of one block are written together, those of one decision merged, and each is answered", async () => {
  const { time, all, writes, stored } = reports();
  const answers = [failed("a1"), failed("a2"), solved("a1"), failed("u1")].map((report) => all.add(report, 1));
  await time.advanceAsync(0);
  expect(await Promise.all(answers)).toEqual([true, true, true, false]);
  expect([writes, [...stored]]).toEqual([
    [["a1", "a2", "u1"]],
    [
      ["a1", "solved"],
      ["a2", "failed"],
    ],
  ]);
});

test("a flood of one caller costs four writes a second, and another caller's report does not wait behind it", async () => {
  const { time, all, writes } = reports();
  let refused = 0;
  // 48 connections, each of which reports of another block as soon as it is answered.
  const connection = async (n: number) => {
    for (let at = 0; at < 1_000; at++) {
      const answer = all.add(failed(`${String.fromCharCode(1_000 + n * 1_000 + at)}`), 1);
      if (answer === undefined) refused++;
      else await answer;
    }
  };
  for (let n = 0; n < 48; n++) void connection(n);
  await time.advanceAsync(500);
  const honest = all.add(failed("h1"), 2);
  const before = writes.length;
  await time.advanceAsync(500);
  expect(await honest).toBe(true);
  expect(writes.length - before).toBeLessThanOrEqual(2);
  await time.advanceAsync(9_000);
  expect(writes.length).toBeWithin(30, 42);
  expect(Math.max(...writes.map((first) => first.length))).toBe(4);
  expect(refused).toBe(0);
});

test("a caller has a hundred reports waiting, all callers a thousand", () => {
  const { all } = reports();
  const taken = (caller: number, id: string) =>
    Array.from({ length: 200 }, (_, n) => all.add(failed(`${id}${n % 3}`), caller)).filter(Boolean).length;
  expect(Array.from({ length: 12 }, (_, caller) => taken(caller, "a"))).toEqual([...Array(10).fill(100), 0, 0]);
});

test("a write that fails is an error to those who waited for it, and the next is tried", async () => {
  const time = manualTime();
  let isUnavailable = true;
  const all = new OutcomeReports(async (first) => {
    if (isUnavailable) throw new Error("unavailable");
    return new Set(first);
  }, time);
  const lost = all.add(failed("a"), 1)!;
  const seen = lost.catch((error: Error) => error.message);
  await time.advanceAsync(0);
  expect(await seen).toBe("unavailable");
  isUnavailable = false;
  const next = all.add(failed("a"), 1);
  await time.advanceAsync(250);
  expect(await next).toBe(true);
});
