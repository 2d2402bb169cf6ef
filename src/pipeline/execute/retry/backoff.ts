import type { Random } from "#platform/time.ts";

/**
 * How long to wait before a repeat, in milliseconds: full jitter, anywhere between nothing and min(max, base × 2^k), so that
 * callers that failed together do not come back together. `k` is 0 before the first repeat.
 */
export function backoffMs(
  k: number,
  rules: { readonly baseMs: number; readonly maxMs: number },
  random: Random,
): number {
  const ceilingMs = Math.min(rules.maxMs, rules.baseMs * 2 ** Math.min(Math.max(k, 0), 52));
  return Math.floor(random() * ceilingMs);
}
