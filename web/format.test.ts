import { expect, test } from "bun:test";
import { goalIdOf } from "#domain/goal.ts";
import {
  clockTime,
  counted,
  duration,
  goalName,
  isoTime,
  minuteTime,
  money,
  share,
  utcDay,
  utcDayLabel,
} from "./format.ts";

test("a goal is shown by the name that its caller gave", () => {
  expect(goalName(goalIdOf({ sessionId: "s1", goalId: "refactor" }))).toBe("s1/refactor");
  expect(goalName(goalIdOf({ goalId: "team/100%/x" }))).toBe("team/100%/x");
  expect(goalName(goalIdOf({ sessionId: "a/b", goalId: "c" }))).toBe("a/b/c");
  expect(goalName(goalIdOf({}))).toBe("adhoc");
});

test("an unknown amount is a dash and not zero", () => {
  expect([money(null), money(undefined)]).toEqual(["–", "–"]);
});

test.each([
  [0, "0 ms"],
  [0.02, "0.1 ms"],
  [0.44, "0.4 ms"],
  [9.96, "10 ms"],
  [999.4, "999 ms"],
  [999.6, "1.0 s"],
  [59_940, "59.9 s"],
  [59_960, "1 m 00 s"],
  [64_000, "1 m 04 s"],
  [7_500_000, "2 h 05 m"],
  [273_600_000, "3 d 04 h"],
  [-2_000, "−2.0 s"],
  [null, "–"],
])("a duration of %d ms is formatted as %s", (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test.each([
  [0, 10, "0 %"],
  [1, 1_000, "<1 %"],
  [1, 3, "33 %"],
  [999, 1_000, ">99 %"],
  [10, 10, "100 %"],
  [12, 10, "120 %"],
  [1, 0, "–"],
])("a share of %d of %d is formatted as %s", (part, whole, text) => {
  expect(share(part, whole)).toBe(text);
});

test("one is singular", () => {
  expect([counted(1, "request"), counted(1_234, "request")]).toEqual(["1 request", "1,234 requests"]);
});

const at = Date.UTC(2026, 10, 22, 14, 2, 11, 482);

test("a time has its date only on another day, and midnight is hour 00", () => {
  expect([clockTime(at, at + 1_000, "utc"), minuteTime(at, at + 1_000, "utc")]).toEqual(["14:02:11.482", "14:02"]);
  expect(clockTime(at, at + 86_400_000, "utc")).toBe("22 Nov 14:02:11.482");
  expect(minuteTime(at, at + 86_400_000, "utc")).toBe("22 Nov 14:02");
  expect(minuteTime(Date.UTC(2026, 10, 22), at, "utc")).toBe("00:00");
});

test("the full time is an ISO time that parses to the same moment, in either zone", () => {
  expect(isoTime(at, "utc")).toBe("2026-11-22T14:02:11.482Z");
  expect(Date.parse(isoTime(at, "local"))).toBe(at);
});

test("the day of a cap is the UTC day, to its last millisecond", () => {
  expect(utcDayLabel(Date.UTC(2026, 10, 22, 23, 59, 59, 999))).toBe("UTC day 2026-11-22");
  expect(utcDay(Date.UTC(2026, 10, 23))).toBe("2026-11-23");
});
