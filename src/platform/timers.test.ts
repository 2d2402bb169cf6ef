import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { timerWheel } from "./timers.ts";

/** A wheel with a manual interval, on a clock that the test advances. */
function setUp(granularityMs = 20) {
  const world = { ms: 12_345.6, ticking: 0, tick: () => {}, read: () => {} };
  const wheel = timerWheel({
    clock: { monotonic: () => world.ms },
    granularityMs,
    every(_ms, tick) {
      world.ticking += 1;
      world.tick = tick;
      return () => {
        world.ticking -= 1;
        world.tick = () => {};
      };
    },
    afterReading(callback) {
      world.read = callback;
    },
  });
  const pass = (ms: number) => {
    for (let left = ms; left > 0; left -= granularityMs) {
      world.ms += Math.min(left, granularityMs);
      world.tick();
    }
  };
  /** The event loop was blocked. */
  const block = (ms: number) => {
    world.ms += ms;
    world.tick();
    world.read();
  };
  return { world, wheel, pass, block };
}

describe("the timer wheel", () => {
  test("fires each timer once, never early and at most two ticks late", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20_000), { maxLength: 60 }), (delays) => {
        const { world, wheel, pass } = setUp();
        const startMs = world.ms;
        const fired: { delay: number; tookMs: number }[] = [];
        for (const delay of delays) wheel.after(delay, () => fired.push({ delay, tookMs: world.ms - startMs }));
        pass(20_100);
        expect(fired.map(({ delay }) => delay).sort((a, b) => a - b)).toEqual([...delays].sort((a, b) => a - b));
        for (const { delay, tookMs } of fired) {
          expect(tookMs).toBeGreaterThanOrEqual(delay);
          expect(tookMs).toBeLessThan(delay + 41);
        }
      }),
    );
  });

  test("a cancelled timer never fires, and a second or late cancellation has no effect", () => {
    const { wheel, pass } = setUp();
    let fired = 0;
    const cancel = wheel.after(100, () => fired++);
    wheel.after(100, () => fired++);
    cancel();
    cancel();
    expect(wheel.pending).toBe(1);
    pass(200);
    cancel();
    expect([fired, wheel.pending]).toEqual([1, 0]);
  });

  test("after a long block all due timers fire, in the order of their times", () => {
    const { wheel, block } = setUp();
    const fired: number[] = [];
    for (const delay of [9_000, 100, 5_000, 120_000, 40]) wheel.after(delay, () => fired.push(delay));
    block(60_000);
    expect(fired).toEqual([40, 100, 5_000, 9_000]);
    block(60_100);
    expect(fired.at(-1)).toBe(120_000);
  });

  test("after a stall timers fire when what has arrived meanwhile was read", () => {
    const { world, wheel } = setUp();
    const fired: string[] = [];
    const cancel = wheel.after(1_000, () => fired.push("the peer is silent"));
    wheel.after(1_000, () => fired.push("due"));
    world.ms += 5_000;
    world.tick();
    expect(fired).toEqual([]);
    // The event loop reads what the peer has sent long ago.
    cancel();
    world.read();
    expect(fired).toEqual(["due"]);
  });

  test("on the runtime's own interval it fires, and then lets the process exit", async () => {
    const wheel = timerWheel({ clock: { monotonic: () => performance.now() }, granularityMs: 1 });
    await new Promise<void>((resolve) => wheel.after(1, resolve));
    expect(wheel.pending).toBe(0);
  });
});
