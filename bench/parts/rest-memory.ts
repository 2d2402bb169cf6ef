/**
 * Resident memory of a gateway at rest: everything on, database in a file, before any request, some time after its start, when the
 * runtime has collected what the start has left. Then again after some requests and as long a rest. Linux only.
 *
 * `bun bench/parts/rest-memory.ts [--starts 3] [--seconds 42] [--requests 2000] [TREE …]`
 * A tree is a checkout of this repository, by default this one; several are compared in the same run. Figures are medians of the starts,
 * in MB: private (anonymous) memory is the gateway's own, files are mostly the code of the runtime, which processes share.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { median } from "../support/quantiles.ts";
import { root, Servers } from "../support/servers.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    starts: { type: "string", default: "3" },
    seconds: { type: "string", default: "42" },
    requests: { type: "string", default: "2000" },
  },
});
const trees = positionals.length === 0 ? [root] : positionals.map((tree) => resolve(tree));

interface Resident {
  readonly all: number;
  readonly anonymous: number;
  readonly files: number;
}

function resident(pid: number): Resident {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const megabytes = (name: string) =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1_024) / 1e6;
  return { all: megabytes("VmRSS"), anonymous: megabytes("RssAnon"), files: megabytes("RssFile") };
}

function line(name: string, readings: readonly Resident[]): string {
  const column = (part: keyof Resident) =>
    median(readings.map((each) => each[part]))
      .toFixed(1)
      .padStart(10);
  const single = readings.map(({ all }) => all.toFixed(1)).join(" ");
  return `${name.slice(-30).padEnd(32)}${column("all")}${column("anonymous")}${column("files")}   (${single})`;
}

const readings = trees.map(() => ({ atRest: [] as Resident[], afterwards: [] as Resident[] }));
const restMs = Number(options.seconds) * 1_000;
await using servers = new Servers({ pinned: false });
const upstream = await servers.upstream();
for (let start = 0; start < Number(options.starts); start++) {
  const started = [];
  for (const tree of trees) started.push({ ...(await servers.gateway(upstream, tree)), atMs: performance.now() });
  for (const [index, { pid, atMs }] of started.entries()) {
    await Bun.sleep(Math.max(0, atMs + restMs - performance.now()));
    readings[index]?.atRest.push(resident(pid));
  }
  if (options.requests !== "0") {
    for (const each of started) await servers.load(each.url, "answers", "8", "60", options.requests);
    await Bun.sleep(restMs);
    for (const [index, { pid }] of started.entries()) readings[index]?.afterwards.push(resident(pid));
  }
  for (const each of started) await servers.stop(each);
}

const columns = ["resident", "private", "files"].map((name) => name.padStart(10)).join("");
console.log(`${"MB".padEnd(32)}${columns}`);
for (const [index, tree] of trees.entries()) {
  const { atRest, afterwards } = readings[index] ?? { atRest: [], afterwards: [] };
  console.log(line(tree, atRest));
  if (afterwards.length > 0) console.log(line(`  after ${options.requests} requests`, afterwards));
}
