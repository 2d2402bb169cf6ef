import { describe, expect, test } from "bun:test";
import { clockTime, isoTime, minuteTime, utcDay, utcDayLabel, utcDayStart } from "./time.ts";

const at = Date.UTC(2026, 10, 22, 14, 2, 11, 482);

describe("times in UTC", () => {
  test("a time of the same day has no date", () => {
    expect(clockTime(at, at + 1_000, "utc")).toBe("14:02:11.482");
    expect(minuteTime(at, at + 1_000, "utc")).toBe("14:02");
  });

  test("a time of another day includes its date", () => {
    expect(clockTime(at, at + 86_400_000, "utc")).toBe("22 Nov 14:02:11.482");
    expect(minuteTime(at, at + 86_400_000, "utc")).toBe("22 Nov 14:02");
  });

  test("midnight is hour 00", () => {
    expect(minuteTime(Date.UTC(2026, 10, 22), at, "utc")).toBe("00:00");
  });

  test("the full time is an ISO time that parses to the same moment, in either zone", () => {
    expect(isoTime(at, "utc")).toBe("2026-11-22T14:02:11.482Z");
    expect(Date.parse(isoTime(at, "local"))).toBe(at);
  });
});

test("the day of a cap is the UTC day, to its last millisecond", () => {
  expect(utcDayLabel(Date.UTC(2026, 10, 22, 23, 59, 59, 999))).toBe("UTC day 2026-11-22");
  expect(utcDay(Date.UTC(2026, 10, 23))).toBe("2026-11-23");
  expect(utcDayStart(at)).toBe(Date.UTC(2026, 10, 22));
});
