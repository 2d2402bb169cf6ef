import type { Clock, Timers } from "./time.ts";

/** A timer wheel. The runtime's own queue holds one interval, and that only while timers are pending. */
export interface TimerWheel extends Timers {
  /** How many timers wait. */
  readonly pending: number;
  /** Forgets all timers, so that the process can end. */
  stop(): void;
}

export interface TimerWheelOptions {
  readonly clock: Pick<Clock, "monotonic">;
  /** How coarse the wheel is, in milliseconds: a timer fires at most this late, and never early. */
  readonly granularityMs?: number;
  /** Calls `tick` every so many milliseconds until the returned function is called. By default an interval that keeps no process alive. */
  readonly every?: (ms: number, tick: () => void) => () => void;
  /** Calls back once the event loop has read from the sockets. By default two immediates: it reads between them. */
  readonly afterReading?: (callback: () => void) => void;
}

/** One revolution of the wheel takes slots × granularity (5 s by default); longer timers wait for a later one. */
const slots = 256;
const maxDelayMs = 2 ** 40;
/** A tick that comes this much later than the one before tells that the process stood still, or its event loop was blocked. */
const stallMs = 200;

/** A timer is a link of its slot's ring: set and cancelled by four assignments, without a search. */
interface Timer {
  readonly dueTick: number;
  readonly order: number;
  callback: (() => void) | undefined;
  before: Timer;
  after: Timer;
}

/** An empty ring: a link that is no timer, and its own neighbour. */
function ring(): Timer {
  const head = { dueTick: Number.POSITIVE_INFINITY, order: 0, callback: undefined } as Timer; // linked in the next line
  head.before = head.after = head;
  return head;
}

/**
 * Deadlines for thousands of calls and streams: setting and cancelling one links and unlinks it. After a stall of the
 * process they fire when what has arrived meanwhile was read. A callback that throws does not keep the others from
 * being called; its error surfaces as an uncaught one.
 */
export function timerWheel(options: TimerWheelOptions): TimerWheel {
  const { clock, granularityMs = 20, every = unreferencedInterval, afterReading = twoImmediates } = options;
  const wheel: Timer[] = Array.from({ length: slots }, ring);
  const startMs = clock.monotonic();
  let pending = 0;
  let made = 0;
  let doneTick = 0;
  let tickedMs = 0;
  let stopTicking: (() => void) | undefined;

  const tickOf = (monotonicMs: number) => Math.floor((monotonicMs - startMs) / granularityMs);

  function cancel(timer: Timer): void {
    if (timer.callback === undefined) return;
    timer.callback = undefined;
    unlink(timer);
    pending -= 1;
    if (pending === 0) stopInterval();
  }

  function stopInterval(): void {
    stopTicking?.();
    stopTicking = undefined;
  }

  /**
   * What peers have sent during a stall of the process is read after the timers. A deadline that fired before would
   * blame a peer for silence that was ours. Only what was due when the stall was seen fires after that reading: another
   * stall may have come since.
   */
  function turn(): void {
    const nowMs = clock.monotonic();
    const isAfterStall = nowMs - tickedMs > stallMs;
    tickedMs = nowMs;
    if (isAfterStall) afterReading(() => fireDue(nowMs));
    else fireDue(nowMs);
  }

  function fireDue(nowMs: number): void {
    const tick = tickOf(nowMs);
    const due = dueTimers(wheel, doneTick, tick);
    doneTick = Math.max(doneTick, tick);
    for (const timer of due) {
      const { callback } = timer;
      // Cancelled by a callback of this same turn.
      if (callback === undefined) continue;
      cancel(timer);
      callSafely(callback);
    }
  }

  return {
    get pending() {
      return pending;
    },
    after(delayMs, callback) {
      const nowMs = clock.monotonic();
      const delay = Math.min(Math.max(delayMs, 0) || 0, maxDelayMs);
      if (pending === 0) {
        doneTick = tickOf(nowMs);
        tickedMs = nowMs;
        stopTicking = every(granularityMs, turn);
      }
      const dueTick = Math.max(doneTick + 1, Math.ceil((nowMs + delay - startMs) / granularityMs));
      const slot = slotOf(wheel, dueTick);
      const timer: Timer = { dueTick, order: made++, callback, before: slot.before, after: slot };
      slot.before.after = timer;
      slot.before = timer;
      pending += 1;
      return () => cancel(timer);
    },
    stop() {
      for (const slot of wheel) {
        for (let timer = slot.after; timer !== slot; timer = timer.after) timer.callback = undefined;
        slot.before = slot.after = slot;
      }
      pending = 0;
      stopInterval();
    },
  };
}

function slotOf(wheel: readonly Timer[], tick: number): Timer {
  return wheel[tick % slots] as Timer; // the remainder is always an index of the wheel
}

/** The timers that are due at a tick and were not at `doneTick`, in the order of their times. */
function dueTimers(wheel: readonly Timer[], doneTick: number, tick: number): readonly Timer[] {
  const due: Timer[] = [];
  // After a long block every slot is looked at once, however many revolutions were missed.
  for (let at = Math.max(doneTick + 1, tick - slots + 1); at <= tick; at++) {
    const slot = slotOf(wheel, at);
    for (let timer = slot.after; timer !== slot; timer = timer.after) if (timer.dueTick <= tick) due.push(timer);
  }
  return due.sort((a, b) => a.dueTick - b.dueTick || a.order - b.order);
}

function unlink(timer: Timer): void {
  timer.before.after = timer.after;
  timer.after.before = timer.before;
  // A finished timer must not reference those that were set after it: one that the collector has promoted would keep
  // the whole chain alive until the next full collection.
  timer.before = timer.after = timer;
}

/** Calls back; what the callback throws surfaces as an uncaught error, after the timers that are due with it. */
function callSafely(callback: () => void): void {
  try {
    callback();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

function twoImmediates(callback: () => void): void {
  setImmediate(() => setImmediate(callback));
}

function unreferencedInterval(ms: number, tick: () => void): () => void {
  const interval = setInterval(tick, ms);
  interval.unref();
  return () => clearInterval(interval);
}
