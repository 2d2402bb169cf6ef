/**
 * Latency of one connection that sends a small chat request as soon as it has the last answer: straight to an upstream that answers
 * at once, through the bare proxy, and through the gateway; and of the gateway's dry run. All in one run, in turn.
 *
 * `bun bench/parts/latency.ts [--rounds 9] [--requests 1000] [--warmup 30000] [--unpinned] [--json] [TREE …]`
 * A tree is a checkout of this repository, by default this one; several are compared in the same run. Servers share one core, upstream and
 * load generator the other, unless `--unpinned`. Figures are medians of the rounds; `above direct` is the median of their differences.
 *
 * `stolen` is the share of both cores' time that the host gave to other machines (`steal` in /proc/stat), for milliseconds at a time. A
 * p99 shows that, and what other processes run: the one that waits for a core waits for the end of their slice, up to 3 ms.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { median } from "../support/quantiles.ts";
import { canPin, type Load, root, Servers } from "../support/servers.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "9" },
    requests: { type: "string", default: "1000" },
    warmup: { type: "string", default: "30000" },
    unpinned: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

interface Way {
  readonly name: string;
  readonly url: string;
  readonly workload: "answers" | "dry-run";
  readonly rounds: Load[];
}

await using servers = new Servers({ pinned: !options.unpinned });

async function load({ name, url, workload }: Way, connections: number, requests: number | string): Promise<Load> {
  const measured = await servers.load(url, workload, String(connections), "60", String(requests));
  if (measured.firstProblem !== undefined) throw new Error(`${name}: ${measured.firstProblem}`);
  return measured;
}

/** Ticks of all cores since the start of the system: all, and those that the host gave to others. */
function ticks(): { readonly all: number; readonly stolen: number } {
  if (process.platform !== "linux") return { all: 0, stolen: Number.NaN };
  const fields =
    readFileSync("/proc/stat", "utf8").split("\n", 1)[0]?.trim().split(/\s+/).slice(1, 9).map(Number) ?? [];
  return { all: fields.reduce((sum, each) => sum + each, 0), stolen: fields[7] ?? Number.NaN };
}

const upstream = await servers.upstream();
const ways: Way[] = [
  { name: "direct", url: upstream.url, workload: "answers", rounds: [] },
  { name: "bare proxy", url: (await servers.proxy(upstream)).url, workload: "answers", rounds: [] },
];
for (const tree of positionals.length === 0 ? [root] : positionals) {
  const { url } = await servers.gateway(upstream, resolve(tree));
  ways.push({ name: tree === root ? "gateway" : tree, url, workload: "answers", rounds: [] });
  ways.push({ name: tree === root ? "dry run" : `${tree}: dry run`, url, workload: "dry-run", rounds: [] });
}

for (const way of ways) {
  // Several connections compile the code sooner, one runs the code of a request that is alone.
  await load(way, 8, options.warmup);
  await load(way, 1, Number(options.warmup) / 10);
}
const before = ticks();
for (let round = 0; round < Number(options.rounds); round++)
  for (const way of ways) way.rounds.push(await load(way, 1, options.requests));
const after = ticks();

const direct = ways[0]?.rounds ?? [];
const above = ({ rounds }: Way, percentile: "p50Ms" | "p99Ms") =>
  median(rounds.map((each, round) => each[percentile] - (direct[round]?.[percentile] ?? Number.NaN)));
const figures = ways.map((way) => ({
  name: way.name,
  p50Ms: median(way.rounds.map(({ p50Ms }) => p50Ms)),
  p99Ms: median(way.rounds.map(({ p99Ms }) => p99Ms)),
  p50AboveDirectMs: above(way, "p50Ms"),
  p99AboveDirectMs: above(way, "p99Ms"),
}));
const stolen = (after.stolen - before.stolen) / (after.all - before.all);
if (options.json) {
  console.log(JSON.stringify({ figures, stolen }));
} else {
  const column = (text: string) => text.padStart(14);
  console.log(`${"".padEnd(30)}${["p50 ms", "p99 ms", "above direct:", "p99"].map(column).join("")}`);
  for (const { name, ...values } of figures) {
    const columns = Object.values(values).map((value) => column(value.toFixed(2)));
    console.log(`${name.slice(-29).padEnd(30)}${columns.join("")}`);
  }
  const where = canPin && !options.unpinned ? "servers on core 0, load and upstream on core 1" : "not pinned to cores";
  console.log(`${where}; ${(stolen * 100).toFixed(0)} % of the cores' time stolen`);
}
