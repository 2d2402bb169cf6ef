/**
 * CPU time of the timer wheel beside the runtime's own timers, with thousands of timers waiting: setting and cancelling one,
 * and waiting. Run: `bun bench/parts/timers.ts [waiting timers, default 5000]`. Each figure is the best of fifteen rounds.
 */
import { systemClock } from "#platform/system-clock.ts";
import type { Timers } from "#platform/time.ts";
import { timerWheel } from "#platform/timers.ts";

const native: Timers = {
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
const noop = () => undefined;
const waitingCount = Number(process.argv[2] ?? 5_000);
const operations = 100_000;

function cpuMs(from: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1_000;
}

async function measure(name: string, timers: Timers): Promise<void> {
  const waiting = Array.from({ length: waitingCount }, () => timers.after(60_000, noop));
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 15; round++) {
    const from = process.cpuUsage();
    for (let i = 0; i < operations; i++) {
      const at = i % waitingCount;
      waiting[at]?.();
      waiting[at] = timers.after(60_000, noop);
    }
    best = Math.min(best, cpuMs(from));
    await Bun.sleep(5);
  }
  const from = process.cpuUsage();
  await Bun.sleep(3_000);
  const idle = cpuMs(from) / 3;
  for (const cancel of waiting) cancel();
  const replaceNs = ((best * 1e6) / operations).toFixed(0);
  console.log(
    `${name}: ${waitingCount} waiting, ${replaceNs} ns to cancel and set one, ${idle.toFixed(1)} ms CPU a second`,
  );
}

await measure("native", native);
await measure("wheel", timerWheel({ clock: systemClock }));

let early = 0;
const delays = Array.from({ length: 2_000 }, (_, i) => 20.5 + (i % 200));
await Promise.all(
  delays.map((delayMs) => {
    const setMs = performance.now();
    return new Promise<void>((resolve) => {
      native.after(delayMs, () => {
        if (performance.now() - setMs < delayMs) early++;
        resolve();
      });
      setTimeout(resolve, 1_000);
    });
  }),
);
console.log(`native: ${early} of ${delays.length} timers with fractional delays fired early`);
process.exit(0);
