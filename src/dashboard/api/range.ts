import type { Range } from "#dashboard/schema/shared.ts";
import type { TimeRange } from "#records/records.ts";
import { ApiProblem } from "./handlers.ts";

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

const hours: Readonly<Record<"1h" | "6h" | "24h" | "7d" | "30d", number>> = {
  "1h": 1,
  "6h": 6,
  "24h": 24,
  "7d": 168,
  "30d": 720,
};

interface RangeQuery {
  readonly range?: Range["key"] | undefined;
  readonly from_ms?: number | undefined;
  readonly to_ms?: number | undefined;
}

/** The longest range that is summed up, some years: roll-ups are kept longer than records. */
const maxRangeMs = 3 * 366 * dayMs;

/**
 * The time that a call is about. A named range begins at a full hour and ends with the hour that is running, so that roll-ups
 * hold it whole, and its two ends name the same requests later on.
 */
export function rangeOf({ range, from_ms, to_ms }: RangeQuery, nowMs: number): Range {
  const end = Math.floor(nowMs / hourMs) * hourMs + hourMs;
  if (from_ms !== undefined || to_ms !== undefined) {
    const to = to_ms ?? end;
    const from = from_ms ?? Math.max(0, to - dayMs);
    if (from >= to) throw new ApiProblem(422, "from_ms must be before to_ms.", "invalid_request");
    if (to - from > maxRangeMs) throw new ApiProblem(422, "The range is longer than three years.", "invalid_request");
    return { key: null, from_ms: from, to_ms: to };
  }
  if (range === "today") return { key: range, from_ms: Math.floor(nowMs / dayMs) * dayMs, to_ms: end };
  const key = range ?? "24h";
  return { key, from_ms: end - hours[key] * hourMs, to_ms: end };
}

export function timeRangeOf({ from_ms, to_ms }: Range): TimeRange {
  return { fromMs: from_ms, toMs: to_ms };
}
