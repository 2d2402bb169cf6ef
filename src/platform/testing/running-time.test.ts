import { expect, test } from "bun:test";
import { processorMs, runningMs } from "./running-time.ts";

test("time passes while the process waits, and a stop hardly counts", async () => {
  const begunMs = performance.now();
  const begun = runningMs();
  await Bun.sleep(60);
  const waited = runningMs() - begun;
  expect(waited).toBeGreaterThan(50);
  expect(waited).toBeLessThanOrEqual(performance.now() - begunMs);
  const before = runningMs();
  Bun.sleepSync(600);
  expect(runningMs() - before).toBeLessThanOrEqual(100);
});

test("processor time passes while the process computes, not while it is stopped", () => {
  const before = processorMs();
  Bun.sleepSync(300);
  const stopped = processorMs() - before;
  const until = performance.now() + 100;
  let sum = 0;
  while (performance.now() < until) sum += Math.sqrt(sum + 1);
  expect(stopped).toBeLessThan(300);
  expect(processorMs() - before).toBeGreaterThan(stopped);
});
