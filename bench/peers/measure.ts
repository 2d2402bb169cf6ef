import { readFileSync } from "node:fs";
import type { Case } from "../support/cases.ts";
import { processTree, treeTime } from "../support/counters.ts";
import { openStreams, startPacedUpstream } from "../support/open-streams.ts";
import { type Load, Servers, type Started } from "../support/servers.ts";
import { newSeed } from "../support/workloads.ts";
import type { Installed } from "./install.ts";
import type { Peer } from "./peers.ts";

/** The result of a round under full load. */
export interface LoadRound {
  /** Processor time of all of the server's processes per request or event, in microseconds. */
  readonly cpuUs: number;
  readonly perSecond: number;
}

/** The result of a round with one connection, in milliseconds. */
export interface LatencyRound {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Measured extends Started {
  readonly name: string;
  readonly headers: readonly string[];
  readonly loads: LoadRound[];
  readonly latencies: LatencyRound[];
  /** Why this case could not be measured. */
  problem?: string;
}

export interface Bounds {
  readonly rounds: number;
  /** The longest time of a round, in seconds. */
  readonly roundS: number;
  readonly warmupS: number;
  /** Requests before the first round. */
  readonly warmup: number;
  /** The times at which no further round begins (`performance.now()`); the earliest counts. One round is always measured. */
  readonly endsAt: number;
}

function loader(servers: Servers, kind: Case) {
  return async (
    { url, headers }: Pick<Measured, "url" | "headers">,
    bounds: { connections: number; seconds: number; requests: number; seed: string; skipped: number },
  ): Promise<Load> => {
    const { connections, seconds, requests, seed, skipped } = bounds;
    const numbers = [connections, seconds, requests].map(String);
    const load = await servers.load(url, kind.workload, ...numbers, seed, String(skipped), ...headers);
    if (load.firstProblem !== undefined) throw new Error(load.firstProblem.split("\r\n")[0]);
    return load;
  };
}

/** Measures one case on all servers alternately, round by round, and directly on the upstream. A failure of one ends only its own measurement. */
export async function measureCase(kind: Case, servers: Servers, direct: Measured, all: Measured[], bounds: Bounds) {
  const load = loader(servers, kind);
  const { connections, requestsPerRound, primed } = kind;
  const seconds = bounds.roundS;
  /** Sends the first request of each conversation and returns the rest of its requests. */
  const begin = async (server: Measured, count: number) => {
    const seed = newSeed();
    if (primed === true) await load(server, { connections: count, seconds, requests: count, seed, skipped: 0 });
    return { seed, skipped: primed === true ? 1 : 0 };
  };
  const loadRound = async (server: Measured) => {
    const part = await begin(server, connections);
    const before = treeTime(server.pid);
    const { answers, perSecond } = await load(server, { connections, seconds, requests: requestsPerRound, ...part });
    const each = answers * (kind.eventsPerRequest ?? 1);
    const cpuUs = (treeTime(server.pid) - before) / 1_000 / each;
    server.loads.push({ cpuUs, perSecond: perSecond * (kind.eventsPerRequest ?? 1) });
  };
  const latencyRound = async (server: Measured) => {
    // If the upstream writes at fixed times, these determine how long an answer takes.
    if (kind.eventsPerRequest !== undefined) return;
    const requests = Math.ceil(requestsPerRound / connections);
    const { p50Ms, p99Ms } = await load(server, { connections: 1, seconds, requests, ...(await begin(server, 1)) });
    server.latencies.push({ p50Ms, p99Ms });
  };
  const attempt = async (server: Measured, what: (server: Measured) => Promise<void>) => {
    if (server.problem !== undefined) return;
    await what(server).catch((error: Error) => {
      server.problem = error.message;
    });
  };

  const requests = Math.ceil(kind.warmup * bounds.warmup);
  const warmUp = async (server: Measured) => {
    await load(server, { connections, seconds: bounds.warmupS, requests, seed: newSeed(), skipped: 0 });
  };
  for (const server of [direct, ...all]) await attempt(server, warmUp);
  for (let round = 0; round < bounds.rounds; round++) {
    if (round > 0 && performance.now() > bounds.endsAt) return;
    for (const server of all) await attempt(server, loadRound);
    for (const server of [direct, ...all]) await attempt(server, latencyRound);
  }
}

export interface Memory {
  /** Resident memory of all of the server's processes soon after the start, before any request, in bytes. */
  readonly restBytes: number;
  /** For each requested number of streams: how many could be opened in time, and the memory of each, in bytes. */
  readonly streams: readonly { readonly opened: number; readonly eachBytes: number }[];
}

function resident({ pid }: Started): number {
  return processTree(pid).reduce((sum, each) => sum + (residentBytes(each) ?? 0), 0);
}

/** The longest time for opening streams, in milliseconds. */
const openingMs = 60_000;
/** Streams that are opened and ended first, because compiled code and pools belong to the process, not to the streams. */
const warmStreams = 300;

/** Measures the memory of one server that is started for this purpose, while its streams are held open. */
export async function measureMemory(peer: Peer, installed: Installed, counts: readonly number[]): Promise<Memory> {
  await using servers = new Servers();
  await using upstream = await startPacedUpstream(5, 20);
  const server = await peer.start(servers, upstream, installed);
  const headers = peer.headers?.(upstream) ?? [];
  await Bun.sleep(3_000);
  const restBytes = resident(server);
  const open = (count: number) => openStreams(server.url, count, { headers, untilMs: openingMs });
  const end = async ({ callers }: Awaited<ReturnType<typeof open>>) => {
    upstream.go();
    await Promise.race([Promise.all(callers.map(({ closed }) => closed)), Bun.sleep(openingMs)]);
    for (const caller of callers) caller.hangUp();
    upstream.hold();
    await Bun.sleep(3_000);
  };
  await end(await open(warmStreams));
  const streams = [];
  for (const count of counts) {
    const before = resident(server);
    const opened = await open(count);
    await Bun.sleep(1_000);
    streams.push({ opened: opened.callers.length, eachBytes: (resident(server) - before) / opened.callers.length });
    await end(opened);
  }
  return { restBytes, streams };
}

/** Resident memory of a process in bytes; undefined if the system does not report it. */
function residentBytes(pid: number): number | undefined {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}
