import { expect, test } from "bun:test";
import { aModel } from "#pipeline/decide/fixtures.ts";
import { manualTime } from "#platform/testing/manual-time.ts";
import { FirstEventTimes } from "./first-event-times.ts";

const model = aModel({ key: "m", role: "worker" });
const reasoning = { ...model, reasoning: true };
const never = Number.POSITIVE_INFINITY;

const rows: [what: string, limitMs: number, usualMs: number | undefined, asked: typeof model, tokens: number][] = [
  ["an unknown model", 12_000, undefined, model, 0],
  ["an unknown model that reasons", 60_000, undefined, reasoning, 0],
  ["an unknown model and a long prompt", 17_000, undefined, model, 100_000],
  ["a fast model", 8_000, 500, model, 0],
  ["a fast model that reasons", 40_000, 500, reasoning, 0],
  ["a usually slow model", 20_000, 5_000, model, 0],
  ["a usually slow model and a long prompt", 70_000, 5_000, model, 1_000_000],
  ["a model with a time-out of its own", never, 500, { ...model, timeoutsMs: { first_event: 90_000 } }, 0],
];
test.each(rows)("a stream leaves %s after %d ms", (_, limitMs, usualMs, asked, tokens) => {
  const times = new FirstEventTimes(manualTime().clock);
  if (usualMs !== undefined) for (let count = 0; count < 20; count++) times.add("m", usualMs);
  expect(times.limitMs(asked, tokens)).toBe(limitMs);
});

test("a model that has become slower is waited for after a few waits that were in vain", () => {
  const { clock, advance } = manualTime();
  const times = new FirstEventTimes(clock);
  for (let count = 0; count < 500; count++) times.add("m", 500);
  expect(times.limitMs(model, 0)).toBe(8_000);
  for (let count = 0; count < 6; count++) times.add("m", 8_000);
  advance(10_000);
  expect(times.limitMs(model, 0)).toBe(32_000);
});
