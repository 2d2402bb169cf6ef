/**
 * Processor time per request, by thread, of gateways and of the bare proxy. On a shared machine it varies less than requests per
 * second. All servers run at once and are loaded alternately, in short rounds; the bench prints the median and the lower quartile
 * of the rounds. Linux only.
 *
 * `bun bench/cpu-per-request.ts [--mode answers|streams] [--warmup 15000] [--rounds 10] [--requests 1000] [TREE …]`
 * A tree is a checkout of this repository, by default this one; two of them are compared in the same run.
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { threadTimes } from "./support/counters.ts";
import { lowerQuartile, median } from "./support/quantiles.ts";
import { root, Servers, type Started } from "./support/servers.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    mode: { type: "string", default: "answers" },
    warmup: { type: "string", default: "15000" },
    rounds: { type: "string", default: "10" },
    requests: { type: "string", default: "1000" },
  },
});
if (process.platform !== "linux") throw new Error("reads /proc: Linux only");

await using servers = new Servers();

interface Measured extends Started {
  readonly name: string;
  /** Of each round: microseconds per request, by thread. */
  readonly rounds: Map<string, number>[];
}

async function load({ name, url }: Measured, requests: string): Promise<void> {
  const { statuses } = await servers.load(url, options.mode, "32", "600", requests);
  const failed = Object.keys(statuses).filter((status) => status !== "200");
  if (failed.length > 0) console.warn(`${name} did not answer 200 to all: ${JSON.stringify(statuses)}`);
}

async function round(server: Measured): Promise<void> {
  const before = threadTimes(server.pid);
  await load(server, options.requests);
  const spent = new Map([["total", 0]]);
  for (const [id, { name, ns }] of threadTimes(server.pid)) {
    const us = (ns - (before.get(id)?.ns ?? 0)) / 1_000 / Number(options.requests);
    spent.set(name, (spent.get(name) ?? 0) + us);
    spent.set("total", (spent.get("total") ?? 0) + us);
  }
  server.rounds.push(spent);
}

function describe({ name, rounds }: Measured): string {
  const threads = new Set(rounds.flatMap((spent) => [...spent.keys()]));
  const lines = [...threads].map((thread) => {
    const all = rounds.map((spent) => spent.get(thread) ?? 0);
    return { thread, middle: median(all), quartile: lowerQuartile(all) };
  });
  return [
    `${name}: microseconds of processor time per request, median (lower quartile)`,
    ...lines
      .filter(({ middle }) => middle >= 1)
      .sort((a, b) => b.middle - a.middle)
      .map(({ thread, middle, quartile }) => `  ${thread.padEnd(16)} ${middle.toFixed(0)} (${quartile.toFixed(0)})`),
  ].join("\n");
}

const upstream = await servers.upstream();
const measured: Measured[] = [{ name: "bare proxy", rounds: [], ...(await servers.proxy(upstream)) }];
for (const tree of positionals.length === 0 ? [root] : positionals) {
  measured.push({ name: tree, rounds: [], ...(await servers.gateway(upstream, resolve(tree))) });
}
for (const server of measured) await load(server, options.warmup);
for (let count = 0; count < Number(options.rounds); count++) for (const server of measured) await round(server);
for (const server of measured) console.log(describe(server));
