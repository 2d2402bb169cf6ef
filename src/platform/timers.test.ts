import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { manualTime } from "./manual-time.ts";
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

  test("a callback can cancel another that is due in the same turn", () => {
    const { wheel, pass } = setUp();
    const fired: string[] = [];
    const cancels: (() => void)[] = [];
    wheel.after(100, () => {
      fired.push("first");
      cancels[0]?.();
    });
    cancels.push(wheel.after(100, () => fired.push("second")));
    pass(200);
    expect(fired).toEqual(["first"]);
  });

  test("a callback can set a timer, which fires in a later turn", () => {
    const { wheel, pass, world } = setUp();
    const at: number[] = [];
    const again = () => {
      at.push(world.ms);
      if (at.length < 4) wheel.after(0, again);
    };
    again();
    pass(200);
    expect(at.length).toBe(4);
    expect(new Set(at).size).toBe(4);
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

  test("a stall during that reading lets nothing fire that was not due before it", () => {
    const { world, wheel } = setUp();
    const fired: string[] = [];
    wheel.after(60_000, () => fired.push("later"));
    world.ms += 5_000;
    world.tick();
    wheel.after(1_000, () => fired.push("the peer is silent"));
    world.ms += 5_000;
    world.read();
    expect(fired).toEqual([]);
    world.tick();
    expect(fired).toEqual([]);
    world.read();
    expect(fired).toEqual(["the peer is silent"]);
  });

  test("a second stall right after the first is one more, whether or not timers are left", () => {
    const { world, wheel } = setUp();
    const fired: string[] = [];
    const stalled = () => {
      world.ms += 5_000;
      world.tick();
    };
    wheel.after(60_000, () => fired.push("later"));
    for (const name of ["first", "second"]) {
      const cancel = wheel.after(1_000, () => fired.push(name));
      stalled();
      cancel();
    }
    expect(fired).toEqual([]);
  });

  test("timers fire although each tick comes late", () => {
    const { wheel, block } = setUp();
    let fired = 0;
    for (const delay of [1_000, 2_000, 3_000]) wheel.after(delay, () => fired++);
    for (let ticks = 0; ticks < 3; ticks++) block(1_000);
    expect(fired).toBe(3);
  });

  test("ticks only while timers wait", () => {
    const { wheel, pass, world } = setUp();
    expect(world.ticking).toBe(0);
    const cancel = wheel.after(1_000, () => {});
    wheel.after(50, () => {});
    expect(world.ticking).toBe(1);
    pass(100);
    expect(world.ticking).toBe(1);
    cancel();
    expect(world.ticking).toBe(0);
    wheel.after(1_000, () => {});
    expect(world.ticking).toBe(1);
    wheel.stop();
    expect([world.ticking, wheel.pending]).toEqual([0, 0]);
  });

  test("a timer set after a pause counts from then", () => {
    const { wheel, pass, world } = setUp();
    wheel.after(20, () => {});
    pass(100);
    world.ms += 1_000_000;
    const startMs = world.ms;
    let firedAt = 0;
    wheel.after(300, () => {
      firedAt = world.ms;
    });
    pass(1_000);
    expect(firedAt - startMs).toBeGreaterThanOrEqual(300);
    expect(firedAt - startMs).toBeLessThan(341);
  });

  test("on the runtime's own interval it fires, and then lets the process exit", async () => {
    const wheel = timerWheel({ clock: { monotonic: () => performance.now() }, granularityMs: 1 });
    await new Promise<void>((resolve) => wheel.after(1, resolve));
    expect(wheel.pending).toBe(0);
  });
});

describe("manual time", () => {
  test("fires timers in order at their own time, and advances both clocks", () => {
    const time = manualTime(1_000);
    const seen: [string, number][] = [];
    time.timers.after(50, () => seen.push(["b", time.clock.now()]));
    time.timers.after(20, () => {
      seen.push(["a", time.clock.monotonic()]);
      time.timers.after(10, () => seen.push(["c", time.clock.monotonic()]));
    });
    time.timers.after(60, () => seen.push(["never", 0]))();
    time.advance(100);
    expect(seen).toEqual([
      ["a", 20],
      ["c", 30],
      ["b", 1_050],
    ]);
    expect([time.clock.now(), time.clock.monotonic(), time.pending]).toEqual([1_100, 100, 0]);
  });
  test("lets code that awaits run between timers", async () => {
    const time = manualTime();
    let rounds = 0;
    const loop = async () => {
      for (; rounds < 3; rounds++) await new Promise<void>((resolve) => time.timers.after(10, resolve));
    };
    const done = loop();
    await time.advanceAsync(30);
    await done;
    expect(rounds).toBe(3);
  });
  test("setting the wall clock does not change durations", () => {
    const time = manualTime(1_000);
    time.setWallClock(500);
    time.advance(10);
    expect([time.clock.now(), time.clock.monotonic()]).toEqual([510, 10]);
  });
});
