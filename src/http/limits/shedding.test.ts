import { describe, expect, test } from "bun:test";
import { maxStreams, memoryLimit, type ReadText } from "./resource-limits.ts";
import { type Load, loadSampler, readText, shedReason } from "./shedding.ts";

const noLoad: Load = { activeStreams: 0, maxStreams: 10, eventLoopDelayMs: 0, memoryShare: 0.1, ledgerOldestMs: 0 };
const files =
  (table: Record<string, string>): ReadText =>
  (path) =>
    table[path];

describe("a request is refused", () => {
  const at = (load: Partial<Load>) => shedReason({ ...noLoad, ...load });
  test("when every stream is in use", () => {
    expect([at({ activeStreams: 9 }), at({ activeStreams: 10 })]).toEqual([undefined, "streams_full"]);
  });
  test("when the event loop lags by more than 100 ms", () => {
    expect([at({ eventLoopDelayMs: 100 }), at({ eventLoopDelayMs: 101 })]).toEqual([undefined, "event_loop_slow"]);
  });
  test("when more than 80 % of the memory is used", () => {
    expect([at({ memoryShare: 0.8 }), at({ memoryShare: 0.81 })]).toEqual([undefined, "memory_high"]);
  });
  test("when the ledger's oldest operation has waited for more than half a second", () => {
    expect([at({ ledgerOldestMs: 500 }), at({ ledgerOldestMs: 501 })]).toEqual([undefined, "ledger_slow"]);
  });
});

describe("the event loop's delay", () => {
  const setUp = () => {
    const world = { ms: 0, sample: () => {}, stopped: false };
    const sampler = loadSampler({
      clock: { monotonic: () => world.ms },
      every(_ms, sample) {
        world.sample = sample;
        return () => {
          world.stopped = true;
        };
      },
      memory: { limitBytes: 1_000 },
      residentBytes: () => 100,
    });
    const sampleAfter = (ms: number) => {
      world.ms += ms;
      world.sample();
    };
    return { world, sampler, sampleAfter };
  };
  test("is the smallest delay of the samples of three seconds", () => {
    const { sampler, sampleAfter } = setUp();
    for (let i = 0; i < 11; i++) sampleAfter(250);
    expect(sampler.eventLoopDelayMs).toBe(0);
    sampleAfter(250);
    expect(sampler.eventLoopDelayMs).toBe(200);
    sampleAfter(50);
    expect(sampler.eventLoopDelayMs).toBe(0);
  });
  test("returns to 0 only after a sample without delay, not when time has passed", () => {
    const { sampler, sampleAfter } = setUp();
    for (let i = 0; i < 4; i++) sampleAfter(1_000);
    expect(sampler.eventLoopDelayMs).toBe(950);
  });
  test("is not that of a single stop, however long: the host was paused, or the process was stopped", () => {
    const { sampler, sampleAfter } = setUp();
    for (let i = 0; i < 100; i++) sampleAfter(50);
    sampleAfter(6_000);
    expect(sampler.eventLoopDelayMs).toBe(0);
    sampleAfter(6_000);
    expect(sampler.eventLoopDelayMs).toBe(5_950);
  });
});

test("memory is the usage of the process or of its whole group, whichever is the larger share of the limit", () => {
  const share = (used: number | undefined) => {
    const sampler = loadSampler({
      clock: { monotonic: () => 0 },
      every: () => () => {},
      memory: { limitBytes: 1_000, usedByGroup: () => used },
      residentBytes: () => 400,
    });
    return sampler.memoryShare;
  };
  expect([share(undefined), share(300), share(900)]).toEqual([0.4, 0.4, 0.9]);
});

describe("the memory limit", () => {
  test("is the machine's memory if no group limits it", () => {
    expect(memoryLimit(files({}), 8_000)).toEqual({ limitBytes: 8_000 });
    expect(
      memoryLimit(files({ "/proc/self/cgroup": "0::/a.slice\n", "/sys/fs/cgroup/a.slice/memory.max": "max\n" }), 8_000),
    ).toEqual({ limitBytes: 8_000 });
  });
  test("is the tightest limit up to the root, without idle file cache", () => {
    const limit = memoryLimit(
      files({
        "/proc/self/cgroup": "0::/system.slice/gateway.service\n",
        "/sys/fs/cgroup/system.slice/memory.max": "3000\n",
        "/sys/fs/cgroup/system.slice/memory.current": "2500\n",
        "/sys/fs/cgroup/system.slice/memory.stat": "anon 1\ninactive_file 700\nactive_file 2\n",
        "/sys/fs/cgroup/system.slice/gateway.service/memory.max": "max\n",
      }),
      8_000,
    );
    expect([limit.limitBytes, limit.usedByGroup?.()]).toEqual([3_000, 1_800]);
  });
});

describe("the number of streams", () => {
  const streams = (soft: string) =>
    maxStreams(
      files({ "/proc/self/limits": `Limit  Soft Limit\nMax open files            ${soft}    524288    files\n` }),
    );
  test("is half of the open files that remain", () => {
    expect(streams("1024")).toBe(448);
    expect(streams("10240")).toBe(5_056);
  });
});

test.skipIf(process.platform !== "linux")("on Linux the real limits are found", () => {
  expect(maxStreams(readText)).toBeGreaterThan(0);
  const sampler = loadSampler({ clock: { monotonic: () => performance.now() } });
  sampler.stop();
  expect(sampler.memoryShare).toBeGreaterThan(0);
  expect(sampler.memoryShare).toBeLessThan(1);
});
