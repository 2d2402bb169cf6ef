/**
 * Requests per second of one process and of several (`WORKERS`), each with its own SQLite database on disk, in turn in one run. Nothing is
 * pinned: load generator and upstream share the cores with the gateways, so on two cores a second process can gain only what they
 * leave. CPU time is that of all processes of a gateway; it says what the coordination of the processes costs. Linux only.
 *
 * `bun bench/parts/workers.ts [--workers N …] [--case NAME …] [--rounds 8] [--seconds 4] [--warmup 20000] [--json]`
 * By default 1 and 2 processes, small chats and 100 KB of new text.
 */
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { type Case, casesNamed } from "../support/cases.ts";
import { treeTime } from "../support/counters.ts";
import { quantile } from "../support/quantiles.ts";
import { Servers, type Started } from "../support/servers.ts";
import { newSeed } from "../support/workloads.ts";

const { values: options } = parseArgs({
  options: {
    workers: { type: "string", multiple: true, default: ["1", "2"] },
    case: { type: "string", multiple: true, default: ["small", "new-text"] },
    rounds: { type: "string", default: "8" },
    seconds: { type: "string", default: "4" },
    warmup: { type: "string", default: "20000" },
    json: { type: "boolean", default: false },
  },
});
if (process.platform !== "linux") throw new Error("reads /proc and starts several processes on one port: Linux only");

interface Measured extends Started {
  readonly workers: number;
}

interface Round {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of all processes of the gateway, for each request. */
  readonly cpuUs: number;
}

const maxWarmupS = "120";

async function measureRound(servers: Servers, { url, pid }: Measured, kind: Case): Promise<Round> {
  const before = treeTime(pid);
  const load = await servers.load(
    url,
    kind.workload,
    String(kind.connections * 2),
    options.seconds,
    "1000000000",
    newSeed(),
  );
  const spent = treeTime(pid) - before;
  if (load.firstProblem !== undefined) throw new Error(`${JSON.stringify(load.statuses)} ${load.firstProblem}`);
  const { perSecond, p50Ms, p99Ms, answers } = load;
  return { perSecond, p50Ms, p99Ms, cpuUs: spent / 1_000 / answers };
}

async function measureCase(servers: Servers, gateways: readonly Measured[], kind: Case) {
  // The kernel spreads connections over the processes, so each of them needs as many requests as one alone.
  for (const gateway of gateways) {
    const requests = String(Math.ceil(kind.warmup * Number(options.warmup) * gateway.workers));
    await servers.load(gateway.url, kind.workload, String(kind.connections), maxWarmupS, requests, newSeed());
  }
  const rounds = gateways.map((): Round[] => []);
  for (let round = 0; round < Number(options.rounds); round++)
    for (const [index, gateway] of gateways.entries()) rounds[index]?.push(await measureRound(servers, gateway, kind));
  return gateways.map(({ workers }, index) => {
    const of = (field: keyof Round) => rounds[index]?.map((round) => round[field]) ?? [];
    return {
      case: kind.name,
      workers,
      perSecond: quantile(of("perSecond"), 0.5),
      quartiles: [quantile(of("perSecond"), 0.25), quantile(of("perSecond"), 0.75)],
      p50Ms: quantile(of("p50Ms"), 0.5),
      p99Ms: quantile(of("p99Ms"), 0.5),
      cpuUs: quantile(of("cpuUs"), 0.5),
    };
  });
}

/** Processes cannot share a port that each of them lets the system choose. */
function freePort(): string {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  listener.stop(true);
  return String(listener.port);
}

await using servers = new Servers({ pinned: false });
const upstream = await servers.upstream();
const gateways: Measured[] = [];
for (const count of options.workers) {
  const settings = { WORKERS: count, PORT: freePort() };
  gateways.push({ workers: Number(count), ...(await servers.gateway(upstream, undefined, "", settings)) });
}
const results = [];
for (const kind of casesNamed(options.case)) results.push(await measureCase(servers, gateways, kind));
if (options.json) console.log(JSON.stringify(results));
else {
  console.log(`${cpus().length} cores, shared with the load generator and the upstream\n`);
  for (const rows of results)
    for (const row of rows) {
      const ratio = row.perSecond / (rows[0]?.perSecond ?? Number.NaN);
      const [low = 0, high = 0] = row.quartiles;
      console.log(
        `${row.case.padEnd(10)} ${String(row.workers).padStart(2)} processes ${row.perSecond.toFixed(0).padStart(7)}/s ` +
          `(${low.toFixed(0)} to ${high.toFixed(0)})  x ${ratio.toFixed(2)}   p50 ${row.p50Ms.toFixed(1)} ms   ` +
          `p99 ${row.p99Ms.toFixed(1)} ms   CPU ${row.cpuUs.toFixed(0)} us`,
      );
    }
}
