import type { CallerKey } from "#domain/chat.ts";
import type { HttpError } from "#http/errors.ts";

const minuteMs = 60_000;

/**
 * Requests a minute of each key that has a limit, in this process. A key that was silent for a minute may send all of them at once;
 * then one comes free at a time (the generic cell rate algorithm: one number a label).
 */
export class KeyRates {
  /** Of the `WORKERS` on one port each takes its part. */
  readonly #workers: number;
  /** When a label's allowance will be whole again, in monotonic milliseconds. Labels are the operator's, and few. */
  readonly #fullAtMs = new Map<string, number>();

  constructor(workers: number) {
    this.#workers = workers;
  }

  /** Counts a request; why it is refused where there are too many. */
  take({ label, rpm }: CallerKey, nowMs: number): HttpError | undefined {
    if (rpm === undefined) return undefined;
    const stepMs = (minuteMs * this.#workers) / rpm;
    const fullAtMs = Math.max(nowMs, this.#fullAtMs.get(label) ?? 0) + stepMs;
    const waitMs = fullAtMs - nowMs - Math.max(minuteMs, stepMs);
    if (waitMs <= 0) {
      this.#fullAtMs.set(label, fullAtMs);
      return undefined;
    }
    const headers = { "retry-after": String(Math.ceil(waitMs / 1_000)), "x-should-retry": "true" };
    const detail = `The caller's key (${label}) may send ${rpm} requests a minute (rpm). Wait, then try again.`;
    return { status: 429, detail, code: "key_rate_exceeded", headers, label };
  }
}
