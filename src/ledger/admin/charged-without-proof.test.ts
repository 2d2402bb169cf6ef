import { expect, test } from "bun:test";
import { ChargedWithoutProof } from "./charged-without-proof.ts";

const midnight = Date.UTC(2026, 2, 2);

/** A watch at ten minutes before midnight of 1 March 2026, with a manual clock. `took` lets time pass in `read` or `connect`. */
function setUp(read: (day: string) => Promise<number>, connect = async () => {}) {
  let nowMs = midnight - 600_000;
  let due: { readonly atMs: number; readonly run: () => void } | undefined;
  const clock = { now: () => nowMs, monotonic: () => nowMs };
  const watch = new ChargedWithoutProof({
    today: async () => new Date(nowMs).toISOString().slice(0, 10),
    async open() {
      await connect();
      return { chargedWithoutProof: read, close: async () => {} };
    },
    clock,
    timers: {
      after(ms, run) {
        const timer = { atMs: nowMs + ms, run };
        due = timer;
        return () => {
          if (due === timer) due = undefined;
        };
      },
    },
    random: () => 0.5,
  });
  return {
    watch,
    settled: () => new Promise((resolve) => setImmediate(resolve)),
    took(ms: number) {
      nowMs += ms;
    },
    dueInMs: () => (due === undefined ? undefined : due.atMs - nowMs),
    async elapse(ms: number) {
      nowMs += ms;
      if (due !== undefined && due.atMs <= nowMs) due.run();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test("is read at the start, every five minutes, and at least a second after a charge", async () => {
  let charged = 7;
  const { watch, settled, dueInMs, elapse } = setUp(async () => charged);
  expect(watch.latest).toBeUndefined();
  watch.start();
  await settled();
  expect([watch.latest, dueInMs()]).toEqual([7, 300_000]);
  charged = 9;
  watch.changed();
  watch.changed();
  expect(dueInMs()).toBe(1_000);
  await elapse(1_000);
  expect([watch.latest, dueInMs()]).toEqual([9, 300_000]);
  charged = 4;
  await elapse(300_000);
  expect(watch.latest).toBe(4);
  await watch.close();
  expect(dueInMs()).toBeUndefined();
});

test("a new day starts with 0, and is read at midnight", async () => {
  const days: string[] = [];
  const { watch, settled, dueInMs, elapse } = setUp(async (day) => days.push(day) * 5);
  watch.start();
  await settled();
  await elapse(300_000);
  expect(watch.latest).toBe(10);
  expect(dueInMs()).toBe(300_000);
  await elapse(299_999);
  expect(watch.latest).toBe(10);
  expect(dueInMs()).toBe(1);
  const reading = elapse(1);
  expect(watch.latest).toBe(0);
  await reading;
  expect(watch.latest).toBe(15);
  expect(days.at(-1)).toBe("2026-03-02");
  await watch.close();
});

test("keeps the last value while the store does not answer, and reads again after five seconds", async () => {
  const answers = [async () => 3, () => Promise.reject(new Error("away")), async () => 6];
  const { watch, settled, dueInMs, elapse } = setUp(() => answers.shift()?.() ?? Promise.resolve(0));
  watch.start();
  await settled();
  watch.changed();
  await elapse(1_000);
  expect([watch.latest, dueInMs()]).toEqual([3, 5_000]);
  await elapse(5_000);
  expect([watch.latest, dueInMs()]).toEqual([6, 300_000]);
  await watch.close();
});

test("takes at most a fiftieth of the time to read a large ledger", async () => {
  const { watch, settled, took, dueInMs } = setUp(async () => {
    took(1_500);
    return 7;
  });
  watch.start();
  await settled();
  watch.changed();
  expect(dueInMs()).toBe(75_000);
  await watch.close();
});

test("does not count the time that it takes to connect", async () => {
  const { watch, settled, took, dueInMs, elapse } = setUp(
    async () => 7,
    async () => took(30_000),
  );
  watch.start();
  await settled();
  for (let reading = 0; reading < 3; reading++) {
    watch.changed();
    expect(dueInMs()).toBe(1_000);
    await elapse(1_000);
  }
  await watch.close();
});
