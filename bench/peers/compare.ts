/**
 * This gateway beside others and beside proxies that do nothing, on one core in one run, with the same upstream, requests and load.
 * Rounds are in turn, so that a busy machine slows all of them. Prints Markdown. Linux only.
 *
 * `bun bench/peers/compare.ts [--case NAME …] [--peer NAME …] [--rounds 5] [--round-seconds 5] [--warmup 10000] [--warmup-seconds 10]
 * [--minutes 15] [--streams 1000,4000] [--folder PATH]`
 * Cases are those of `bench/instructions.ts`; `--streams ""` leaves memory out. After `--minutes` no further round begins.
 *
 * The others are installed from their registries (npm, PyPI, Debian) into a temporary folder, or into that of `--folder`, which is
 * kept for the next run. What cannot be installed or does not start is named with its reason and left out.
 */
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { byUpstream, casesNamed } from "../support/cases.ts";
import { Servers, type Started } from "../support/servers.ts";
import { type Installed, Unavailable } from "./install.ts";
import { type Measured, measureCase, measureMemory } from "./measure.ts";
import { notMeasured, type Peer, peers } from "./peers.ts";
import { caseTable, conditions, memoryTable, table } from "./report.ts";

const { values: options } = parseArgs({
  options: {
    case: { type: "string", multiple: true, default: ["small", "new-text", "agent", "burst", "paced"] },
    peer: { type: "string", multiple: true },
    rounds: { type: "string", default: "5" },
    "round-seconds": { type: "string", default: "5" },
    warmup: { type: "string", default: "10000" },
    "warmup-seconds": { type: "string", default: "10" },
    minutes: { type: "string", default: "15" },
    streams: { type: "string", default: "1000,4000" },
    folder: { type: "string" },
  },
});
if (process.platform !== "linux") throw new Error("reads /proc: Linux only");
const chosen = byUpstream(casesNamed(options.case));
const unknown = options.peer?.find((name) => peers.every((peer) => peer.name !== name));
if (unknown !== undefined) throw new Error(`--peer ${unknown}: one of ${peers.map(({ name }) => name).join(", ")}`);
const counts = options.streams.split(",").filter(Boolean).map(Number);
/** Shared among the cases, so that each case is measured equally often. */
const endsAt = performance.now() + Number(options.minutes) * 60_000;

interface Ready {
  readonly peer: Peer;
  readonly installed: Installed;
}

const absent = notMeasured.map(({ name, why }) => `${name}: ${why}`);

async function install(peer: Peer, servers: Servers): Promise<Ready | undefined> {
  const folder = resolve(options.folder ?? join(servers.scratch, "installed"), peer.name.replaceAll(" ", "-"));
  mkdirSync(folder, { recursive: true });
  try {
    return { peer, installed: await peer.install(folder) };
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    absent.push(`${peer.name}: ${error.message}`);
    return undefined;
  }
}

async function start({ peer, installed }: Ready, servers: Servers, upstream: Started): Promise<Measured | undefined> {
  try {
    const started = await peer.start(servers, upstream, installed);
    return { ...started, name: peer.name, headers: peer.headers?.(upstream) ?? [], loads: [], latencies: [] };
  } catch (error) {
    absent.push(`${peer.name}: ${(error as Error).message}`);
    return undefined;
  }
}

/** The folder with the installed servers; each case and each measurement of memory starts new servers. */
await using home = new Servers();
const ready: Ready[] = [];
for (const peer of peers.filter(({ name }) => options.peer?.includes(name) ?? true)) {
  const installed = await install(peer, home);
  if (installed !== undefined) ready.push(installed);
}

console.log(`${conditions()}\n`);
const versions = ready.map(({ peer, installed }) => [peer.name, installed.version, peer.does]);
console.log(`${table(["", "version", "what it does here"], versions)}\n`);

const total = chosen.reduce((sum, { kinds }) => sum + kinds.length, 0);
let measured = 0;
for (const { args, kinds } of chosen) {
  await using servers = new Servers();
  const upstream = await servers.upstream(...args);
  const started: Measured[] = [];
  for (const each of ready) {
    const server = await start(each, servers, upstream);
    if (server !== undefined) started.push(server);
  }
  for (const kind of kinds) {
    const fresh = (server: Measured): Measured => ({ ...server, loads: [], latencies: [] });
    const all = started.map(fresh);
    const direct: Measured = { ...upstream, name: "direct", headers: [], loads: [], latencies: [] };
    const now = performance.now();
    await measureCase(kind, servers, direct, all, {
      rounds: Number(options.rounds),
      roundS: Number(options["round-seconds"]),
      warmup: Number(options.warmup),
      warmupS: Number(options["warmup-seconds"]),
      endsAt: now + (endsAt - now) / (total - measured),
    });
    measured += 1;
    console.log(caseTable(kind, direct, all));
  }
}

if (counts.length > 0) {
  const memories = [];
  for (const { peer, installed } of ready) {
    const memory = await measureMemory(peer, installed, counts).catch((error: Error) => error.message);
    memories.push({ name: peer.name, memory });
  }
  console.log(memoryTable(counts, memories));
}
console.log(`Not measured: ${absent.join("; ")}.`);
console.log(`\n${conditions()}`);
