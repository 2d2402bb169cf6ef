import { errorOf } from "#domain/errors.ts";
import type { Check } from "#http/endpoint.ts";
import type { Clock } from "#platform/time.ts";

const minuteMs = 60_000;

/**
 * Counts the requests a minute of each key that has a limit, in this process. A key that was silent for a minute may
 * send all of them at once; then one comes free at a time (the generic cell rate algorithm: one number a label).
 *
 * @param workers on one port, each of which takes its part
 */
export function keyRateCheck(clock: Pick<Clock, "monotonic">, workers: number): Check {
  /** When a label's allowance will be whole again, in monotonic milliseconds. Labels are the operator's, and few. */
  const wholeAtMs = new Map<string, number>();
  return (_, { key }) => {
    if (key?.rpm === undefined) return undefined;
    const { label, rpm } = key;
    const nowMs = clock.monotonic();
    const stepMs = (minuteMs * workers) / rpm;
    const nextMs = Math.max(nowMs, wholeAtMs.get(label) ?? 0) + stepMs;
    const waitMs = nextMs - nowMs - Math.max(minuteMs, stepMs);
    if (waitMs > 0)
      return { ...errorOf("key_rate_exceeded", { label, rpm }), retryAfterS: Math.ceil(waitMs / 1_000), label };
    wholeAtMs.set(label, nextMs);
    return undefined;
  };
}
