import { expect, test } from "bun:test";
import type { DecisionRow } from "#operator/records.ts";
import { merged, mostLive, noRows, received, released } from "./live-rows.ts";

function row(id: string, status = 200): DecisionRow {
  return { decision_id: id, status } as DecisionRow; // only these are looked at
}
const ids = (rows: readonly DecisionRow[]): string[] => rows.map(({ decision_id }) => decision_id);

test("a live row is added at the top of the list", () => {
  const live = received(received(noRows, row("a"), false), row("b"), false);
  expect(ids(merged(live.shown, [row("c")]))).toEqual(["b", "a", "c"]);
});

test("while the list is paused, rows wait, and are added in their order when it resumes", () => {
  const before = received(noRows, row("a"), false);
  const paused = received(received(before, row("b"), true), row("c"), true);
  expect([ids(paused.shown), ids(paused.waiting)]).toEqual([["a"], ["c", "b"]]);
  expect(ids(released(paused).shown)).toEqual(["c", "b", "a"]);
});

test("a decision that arrives again replaces its row in place, paused or not", () => {
  const live = received(received(noRows, row("a", 102), false), row("b"), false);
  expect(received(live, row("a", 200), true).shown.map(({ status }) => status)).toEqual([200, 200]);
});

test("a decision is in the list once, with its newest state", () => {
  const rows = merged([row("a", 500)], [row("a", 200), row("b")]);
  expect([ids(rows), rows[0]?.status]).toEqual([["a", "b"], 500]);
});

test("rows above the list's limit are dropped", () => {
  let live = noRows;
  for (let index = 0; index < 3 * mostLive; index += 1) live = received(live, row(`r${index}`), index % 2 === 0);
  expect(live.shown.length + live.waiting.length).toBeLessThanOrEqual(2 * (mostLive + 1));
});
