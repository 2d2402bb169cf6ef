/**
 * Many streams at once, then all of their callers gone at once: what a stream costs in memory, whether any of them starves,
 * and whether everything is given back. Gateway, upstream and callers are processes of their own.
 *
 * `bun bench/streams.ts [--streams 4000] [--events 50] [--interval 100]`
 */
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { serve } from "../test/harness/process.ts";
import { auditOf, type Bar, descriptors, report, residentBytes } from "./support/measure.ts";
import type { UpstreamStats } from "./support/paced-upstream.ts";
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

/** One caller on a bare socket; counts events as they come and remembers the longest silence between two. */
class Caller {
  events = 0;
  done = false;
  status = "";
  longestGapMs = 0;
  private lastAt = 0;
  private tail = "";
  private readonly socket: Socket;
  readonly closed: Promise<void>;

  constructor(url: URL, request: string, onFirst: () => void) {
    this.socket = connect({ host: url.hostname, port: Number(url.port) });
    this.socket.on("connect", () => this.socket.write(request));
    this.socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => this.socket.on("close", () => resolve()));
    this.socket.on("data", (bytes: Buffer) => {
      const text = this.tail + bytes.toString("latin1");
      if (this.status === "") this.status = text.slice(9, 12);
      const now = performance.now();
      let found = 0;
      for (let at = text.indexOf("data: {"); at >= 0; at = text.indexOf("data: {", at + 7)) found += 1;
      if (found > 0 && this.events > 0) this.longestGapMs = Math.max(this.longestGapMs, now - this.lastAt);
      if (found > 0) this.lastAt = now;
      if (this.events === 0 && (found > 0 || this.status !== "200")) onFirst();
      this.events += found;
      this.done ||= text.includes("data: [DONE]");
      // Enough to find a mark that two packets share, too little to count one twice.
      this.tail = text.slice(-6);
    });
  }

  /** The hold at the start is the benchmark's doing, not the gateway's. */
  startClock(): void {
    this.lastAt = performance.now();
    this.longestGapMs = 0;
  }

  hangUp(): void {
    this.socket.resetAndDestroy();
  }
}

const scratch = mkdtempSync(join(tmpdir(), "smart-gateway-streams-"));
const databaseUrl = `sqlite:${join(scratch, "gateway.db")}`;
const policy = await writePolicy(scratch);

let stats = Promise.withResolvers<UpstreamStats>();
const upstreamUrl = Promise.withResolvers<string>();
const upstream = Bun.spawn(
  [process.execPath, join(import.meta.dir, "support/paced-upstream.ts"), options.events, options.interval],
  {
    stdio: ["ignore", "inherit", "inherit"],
    ipc(message: { url?: string; stats?: UpstreamStats }) {
      if (message.url !== undefined) upstreamUrl.resolve(message.url);
      if (message.stats !== undefined) stats.resolve(message.stats);
    },
  },
);
const upstreamStats = (): Promise<UpstreamStats> => {
  stats = Promise.withResolvers();
  upstream.send("stats");
  return stats.promise;
};

const gateway = await serve({
  UPSTREAM_BASE_URL: await upstreamUrl.promise,
  UPSTREAM_API_KEY: "bench-upstream-key",
  DATABASE_URL: databaseUrl,
  ROUTING_POLICY_PATH: policy,
});
const url = new URL(gateway.url);
const body = JSON.stringify({
  model: "smart-router-flash",
  stream: true,
  max_tokens: 64,
  messages: [{ role: "user", content: "Count to fifty." }],
});
const request =
  `POST /v1/chat/completions HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: Bearer bench-token-0123456789\r\n` +
  `Content-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

let shed = 0;

/** Opens so many streams, a few dozen at a time, each up to its first event. A shed request is asked again. */
async function open(count: number): Promise<Caller[]> {
  const open: Caller[] = [];
  const slots = Array.from({ length: 64 }, async () => {
    while (open.length < count) {
      const first = Promise.withResolvers<void>();
      const caller = new Caller(url, request, first.resolve);
      open.push(caller);
      await Promise.race([first.promise, caller.closed]);
      if (caller.status === "200") continue;
      if (caller.status !== "503") throw new Error(`a caller got ${caller.status || "no answer"}`);
      shed += 1;
      open.splice(open.indexOf(caller), 1);
      caller.hangUp();
      await sleep(200);
    }
  });
  await Promise.all(slots);
  return open;
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
  // Warm: compiled code and pools belong to the process, not to the streams.
  upstream.send("go");
  await Promise.all((await open(Math.min(300, streams))).map((caller) => caller.closed));
  upstream.send("hold");
  await sleep(1_000);
  const before = residentBytes(gateway.child.pid);
  const descriptorsBefore = descriptors(gateway.child.pid);

  console.log(`${streams} streams of ${events} events, ${intervalMs} ms apart; gateway at ${megabytes(before)}`);
  let openedAt = performance.now();
  const callers = await open(streams);
  console.log(`all open after ${((performance.now() - openedAt) / 1000).toFixed(1)} s, ${shed} asked again after 503`);
  let peak = residentBytes(gateway.child.pid) ?? Number.NaN;
  const sampling = setInterval(() => {
    peak = Math.max(peak, residentBytes(gateway.child.pid) ?? 0);
  }, 250);
  for (const caller of callers) caller.startClock();
  upstream.send("go");
  await Promise.race([Promise.all(callers.map((caller) => caller.closed)), sleep(events * intervalMs + 60_000)]);
  clearInterval(sampling);
  // The words, and the finish; the usage chunk was not asked for.
  const complete = callers.filter((caller) => caller.done && caller.events === events + 1).length;
  const gap = Math.max(...callers.map((caller) => caller.longestGapMs));
  const perStream = (peak - (before ?? Number.NaN)) / streams / 1000;
  bars.push(
    { name: "streams complete", figure: `${complete} of ${streams}`, bar: "all", ok: complete === streams },
    { name: "longest silence in any stream", figure: `${gap.toFixed(0)} ms`, bar: "< 1,000 ms", ok: gap < 1_000 },
    {
      name: "memory per stream",
      figure: `${perStream.toFixed(1)} kB (peak ${megabytes(peak)})`,
      bar: "< 60 kB",
      ok: perStream < 60,
    },
  );

  upstream.send("hold");
  openedAt = performance.now();
  const leaving = await open(streams);
  upstream.send("go");
  await sleep(500);
  for (const caller of leaving) caller.hangUp();
  const abortedMs = await until(async () => (await upstreamStats()).unfinished === 0, 30_000);
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
  const { billedNanoUsd, received } = await upstreamStats();
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
  upstream.kill();
  await upstream.exited;
  await gateway[Symbol.asyncDispose]();
  rmSync(scratch, { recursive: true, force: true });
}
