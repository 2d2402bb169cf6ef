import type { Clock, Timers } from "#platform/time.ts";

interface TimedEvent {
  readonly atMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/** Time that advances only when everything that can run now has run. */
export class VirtualTime implements Clock, Timers {
  #elapsedMs = 0;
  #events: TimedEvent[] = [];
  #order = 0;
  jumpedMs: number;
  /** Called after each event; throws if the run has failed. */
  check: () => void = () => {};

  constructor(startMs: number) {
    this.jumpedMs = startMs;
  }

  now(): number {
    return this.jumpedMs + this.#elapsedMs;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const event = { atMs: this.#elapsedMs + Math.max(0, delayMs), order: this.#order++, callback };
    this.#events.push(event);
    return () => {
      this.#events = this.#events.filter((one) => one !== event);
    };
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve));
  }

  async runUntil(untilMs: number): Promise<void> {
    for (;;) {
      // Lets every promise that can continue do so before time advances: no chain here is half as long as this.
      for (let i = 0; i < 50; i++) await undefined;
      let next: TimedEvent | undefined;
      for (const event of this.#events) {
        if (next === undefined || event.atMs < next.atMs || (event.atMs === next.atMs && event.order < next.order)) {
          next = event;
        }
      }
      if (next === undefined || next.atMs > untilMs) break;
      const { callback } = next;
      this.#events = this.#events.filter((one) => one !== next);
      this.#elapsedMs = Math.max(this.#elapsedMs, next.atMs);
      callback();
      this.check();
    }
    this.#elapsedMs = Math.max(this.#elapsedMs, untilMs);
  }
}
