import { expect, test } from "bun:test";
import { aModel } from "#pipeline/decide/fixtures.ts";
import { LightAbortController } from "#platform/abort.ts";
import { manualTime } from "#platform/testing/manual-time.ts";
import { CallsInFlight } from "./calls-in-flight.ts";

const model = { ...aModel({ key: "m", role: "worker" }), maxInFlight: 2 };

function setUp() {
  const time = manualTime();
  const calls = new CallsInFlight(time.timers);
  const order: string[] = [];
  const { signal } = new LightAbortController();
  const ask = (name: string, caller: number, of: AbortSignal | typeof signal = signal) =>
    calls.acquire(model, caller, 5_000, of).then((isIn) => void order.push(isIn ? name : `${name}: none`));
  return { time, calls, order, ask };
}

test("callers get places in turn, however many requests each of them has", async () => {
  const { time, calls, order, ask } = setUp();
  for (const name of ["a1", "a2", "a3", "a4", "a5"]) ask(name, 1);
  for (const name of ["b1", "b2"]) ask(name, 2);
  ask("c1", 3);
  expect(calls.counts()).toEqual([{ model: "m", inFlight: 2, waiting: 6 }]);
  for (let ended = 0; ended < 8; ended++) {
    calls.release("m");
    await time.advanceAsync(1);
  }
  expect(order).toEqual(["a1", "a2", "a3", "b1", "c1", "a4", "b2", "a5"]);
  expect(calls.counts()).toEqual([{ model: "m", inFlight: 0, waiting: 0 }]);
  expect(time.pending).toBe(0);
});

test("who has waited long enough, or has disconnected, gets none, and takes none later", async () => {
  const { time, calls, order, ask } = setUp();
  const caller = new LightAbortController();
  for (const name of ["a1", "a2", "a3"]) ask(name, 1);
  ask("b1", 2, caller.signal);
  caller.abort();
  await time.advanceAsync(5_000);
  expect(order).toEqual(["a1", "a2", "b1: none", "a3: none"]);
  calls.release("m");
  expect(calls.counts()).toEqual([{ model: "m", inFlight: 1, waiting: 0 }]);
});

test("a lower limit holds as soon as calls end", async () => {
  const { time, calls, order, ask } = setUp();
  for (const name of ["a1", "a2", "a3"]) ask(name, 1);
  await time.advanceAsync(1);
  expect(await calls.acquire({ ...model, maxInFlight: 1 }, 1, 0, new LightAbortController().signal)).toBe(false);
  calls.release("m");
  await time.advanceAsync(1);
  expect(order).toEqual(["a1", "a2"]);
  calls.release("m");
  await time.advanceAsync(1);
  expect(order).toEqual(["a1", "a2", "a3"]);
});
