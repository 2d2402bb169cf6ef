import { expect, test } from "bun:test";
import { LoadSampler, ledgerCheck, maxStreams, shedReason } from "./overload.ts";

test.each([
  ["a free stream", { activeStreams: 9 }, undefined],
  ["no free stream", { activeStreams: 10 }, "streams_full"],
  ["a delay of 100 ms", { eventLoopDelayMs: 100 }, undefined],
  ["a longer delay of the event loop", { eventLoopDelayMs: 101 }, "event_loop_slow"],
  ["80 % of the memory", { memoryShare: 0.8 }, undefined],
  ["more of the memory", { memoryShare: 0.81 }, "memory_high"],
] as const)("with %s: %o sheds for %p", (_, load, reason) => {
  const noLoad = { activeStreams: 0, maxStreams: 10, eventLoopDelayMs: 0, memoryShare: 0.1 };
  expect(shedReason({ ...noLoad, ...load })).toBe(reason);
});

test("an entry that waits in the ledger's queue for more than half a second stops spending", () => {
  const context = { requestId: "r", headers: {} };
  const codes = [500, 501].map((oldestMs) => {
    const status = { kind: "sqlite" as const, ok: true, queued: 1, oldestMs };
    return ledgerCheck({ oldestMs: () => oldestMs, status: () => status })(new Request("http://gateway"), context)
      ?.code;
  });
  expect(codes).toEqual([undefined, "budget_store_unavailable"]);
});

test("the event loop's delay is the least of three seconds: neither a pause nor a burst counts", () => {
  let nowMs = 0;
  const sampler = new LoadSampler({ monotonic: () => nowMs }, 1);
  const sample = (times: number, everyMs: number) => {
    for (let i = 0; i < times; i++) {
      nowMs += everyMs;
      sampler.sample();
    }
    return sampler.eventLoopDelayMs;
  };
  expect([sample(100, 50), sample(1, 6_000), sample(19, 250)]).toEqual([0, 0, 200]);
  expect([sample(1, 250), sample(1, 50)]).toEqual([200, 0]);
});

test("the memory of all workers counts against the machine's or the container's", () => {
  const [one, four] = [1, 4].map((workers) => {
    const sampler = new LoadSampler({ monotonic: () => 0 }, workers);
    for (let i = 0; i < 30; i++) sampler.sample();
    return sampler.memoryShare;
  });
  expect(one).toBeWithin(0, 0.8);
  expect(four).toBeGreaterThan(3 * (one ?? 0));
});

test("half of the open files that remain are streams; never more than the ports to one address, and at least one", () => {
  const limits = [1_024, 10_240, Number.POSITIVE_INFINITY, 524_288, 64];
  expect(limits.map((limit) => maxStreams(limit))).toEqual([448, 5_056, 25_000, 25_000, 1]);
  expect(maxStreams()).toBeGreaterThan(0);
});
