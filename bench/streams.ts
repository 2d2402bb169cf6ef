/**
 * Many streams at once, whose callers then disconnect at once: the memory of a stream, the longest pause of each, and whether all
 * memory and descriptors are released. Gateway, upstream and callers are separate processes.
 *
 * `bun bench/streams.ts [--streams 4000] [--events 50] [--interval 100]`
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { serve } from "../test/harness/process.ts";
import { auditOf, type Bar, descriptors, report, residentBytes } from "./support/measure.ts";
import { openStreams, type StreamCaller, startPacedUpstream } from "./support/open-streams.ts";
import { writePolicy } from "./support/servers.ts";

const { values: options } = parseArgs({
  options: {
    streams: { type: "string", default: "4000" },
    events: { type: "string", default: "50" },
    interval: { type: "string", default: "100" },
  },
});
const streams = Number(options.streams);
const events = Number(options.events);
const intervalMs = Number(options.interval);
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const scratch = mkdtempSync(join(tmpdir(), "smart-gateway-streams-"));
const databaseUrl = `sqlite:${join(scratch, "gateway.db")}`;
const policy = await writePolicy(scratch);

const upstream = await startPacedUpstream(events, intervalMs);

const gateway = await serve({
  // As the launcher sets it (scripts/toolchain.mjs).
  MIMALLOC_PURGE_DELAY: process.env["MIMALLOC_PURGE_DELAY"] ?? "2000",
  UPSTREAM_BASE_URL: upstream.url,
  UPSTREAM_API_KEY: "bench-upstream-key",
  DATABASE_URL: databaseUrl,
  ROUTING_POLICY_PATH: policy,
});
let shed = 0;

async function open(count: number): Promise<StreamCaller[]> {
  const opened = await openStreams(`${gateway.url}/v1`, count, { untilMs: Number.POSITIVE_INFINITY });
  shed += opened.shed;
  return opened.callers;
}

async function until(holds: () => Promise<boolean>, withinMs: number): Promise<number> {
  const startedAt = performance.now();
  while (!(await holds())) {
    if (performance.now() - startedAt > withinMs) return Number.POSITIVE_INFINITY;
    await sleep(25);
  }
  return performance.now() - startedAt;
}

const megabytes = (bytes: number | undefined) => (bytes === undefined ? "unknown" : `${(bytes / 1e6).toFixed(0)} MB`);
const bars: Bar[] = [];
try {
  // Warm-up: compiled code and pools belong to the process, not to the streams.
  upstream.go();
  await Promise.all((await open(Math.min(300, streams))).map((caller) => caller.closed));
  upstream.hold();
  await sleep(1_000);
  const before = residentBytes(gateway.child.pid);
  const descriptorsBefore = descriptors(gateway.child.pid);

  console.log(`${streams} streams of ${events} events, ${intervalMs} ms apart; gateway at ${megabytes(before)}`);
  let openedAt = performance.now();
  const callers = await open(streams);
  console.log(`all open after ${((performance.now() - openedAt) / 1000).toFixed(1)} s, ${shed} asked again after 503`);
  const heldPerStream = ((residentBytes(gateway.child.pid) ?? Number.NaN) - (before ?? Number.NaN)) / streams / 1000;
  let peak = residentBytes(gateway.child.pid) ?? Number.NaN;
  const sampling = setInterval(() => {
    peak = Math.max(peak, residentBytes(gateway.child.pid) ?? 0);
  }, 250);
  for (const caller of callers) caller.startClock();
  upstream.go();
  await Promise.race([Promise.all(callers.map((caller) => caller.closed)), sleep(events * intervalMs + 60_000)]);
  clearInterval(sampling);
  // The words and the finish; the usage chunk was not requested.
  const complete = callers.filter((caller) => caller.done && caller.events === events + 1).length;
  const gap = Math.max(...callers.map((caller) => caller.longestGapMs));
  const perStream = (peak - (before ?? Number.NaN)) / streams / 1000;
  bars.push(
    { name: "streams complete", figure: `${complete} of ${streams}`, bar: "all", ok: complete === streams },
    { name: "longest silence in any stream", figure: `${gap.toFixed(0)} ms`, bar: "< 1,000 ms", ok: gap < 1_000 },
    {
      name: "memory per stream, held open",
      figure: `${heldPerStream.toFixed(1)} kB`,
      bar: "<= 35 kB",
      ok: heldPerStream <= 35,
    },
    {
      name: "memory per stream, at the peak",
      figure: `${perStream.toFixed(1)} kB (peak ${megabytes(peak)})`,
      bar: "< 60 kB",
      ok: perStream < 60,
    },
  );

  upstream.hold();
  openedAt = performance.now();
  const leaving = await open(streams);
  upstream.go();
  await sleep(500);
  for (const caller of leaving) caller.hangUp();
  const abortedMs = await until(async () => (await upstream.stats()).unfinished === 0, 30_000);
  bars.push({
    name: "upstream saw all disconnects",
    figure: `${abortedMs.toFixed(0)} ms`,
    bar: "< 2,000 ms",
    ok: abortedMs < 2_000,
  });
  await until(async () => (residentBytes(gateway.child.pid) ?? 0) <= 1.3 * (before ?? 0), 60_000);
  const afterwards = residentBytes(gateway.child.pid) ?? Number.NaN;
  const share = afterwards / (before ?? Number.NaN) - 1;
  bars.push({
    name: "memory afterwards",
    figure: `${megabytes(afterwards)}, ${share >= 0 ? "+" : ""}${(share * 100).toFixed(0)} %`,
    bar: "within 30 % of the start",
    ok: share <= 0.3,
  });
  const left = (descriptors(gateway.child.pid) ?? 0) - (descriptorsBefore ?? 0);
  bars.push({ name: "descriptors left open", figure: String(left), bar: "<= 64 (idle pool)", ok: left <= 64 });

  gateway.signal("SIGTERM");
  gateway.signal("SIGTERM");
  await gateway.exited();
  const ledger = await auditOf(databaseUrl);
  const { billedNanoUsd, received } = await upstream.stats();
  for (const finding of ledger.findings) console.log(finding);
  bars.push(
    {
      name: "audit of the ledger",
      figure: `${ledger.findings.length} findings`,
      bar: "none",
      ok: ledger.findings.length === 0,
    },
    {
      name: "spent + held covers the upstream's bill",
      figure: `${ledger.spentNanoUsd + ledger.heldNanoUsd} >= ${billedNanoUsd}`,
      bar: `${received} calls`,
      ok: ledger.spentNanoUsd + ledger.heldNanoUsd >= billedNanoUsd,
    },
  );
  report(bars);
} finally {
  await upstream[Symbol.asyncDispose]();
  await gateway[Symbol.asyncDispose]();
  rmSync(scratch, { recursive: true, force: true });
}
