import { describe, expect, test } from "bun:test";
import { projection } from "./charts.tsx";

const pace = { window_ms: 3_600_000, nano_usd_per_hour: 10, day_ends_at_ms: 1_000, forecast_nano_usd: 70 };
const day = {
  account: "day/2026-11-22",
  kind: "day",
  name: "2026-11-22",
  spent_nano_usd: 20,
  held_nano_usd: 0,
  overrun_nano_usd: 0,
  soft_nano_usd: 40,
  hard_nano_usd: 50,
  cap_from: "policy",
  left_nano_usd: 30,
  used_share: 0.4,
} as const;

describe("the projection of the day's spend", () => {
  test("reaches the end of the day if the cap is not reached", () => {
    const caps = { day: { ...day, hard_nano_usd: 100 }, pace: { ...pace, runs_out_at_ms: null } };
    expect(projection({ at_ms: 100, caps }, 20)).toEqual([{ atMs: 1_000, nano: 70 }]);
  });

  test("stops at the hard cap, because requests are refused from then on", () => {
    const caps = { day, pace: { ...pace, runs_out_at_ms: 600 } };
    expect(projection({ at_ms: 100, caps }, 20)).toEqual([
      { atMs: 600, nano: 50 },
      { atMs: 1_000, nano: 50 },
    ]);
  });

  test("is never below the amount spent, and its times rise", () => {
    const caps = { day, pace: { ...pace, runs_out_at_ms: 90 } };
    expect(projection({ at_ms: 100, caps }, 60)).toEqual([
      { atMs: 101, nano: 60 },
      { atMs: 1_000, nano: 60 },
    ]);
  });
});
