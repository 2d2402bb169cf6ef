/**
 * Processor time per request, by thread, of gateways beside the bare proxy: steadier than requests a second on a machine
 * that others use too. All run at once and are loaded in turn, in short rounds; printed are the median and the lower
 * quartile of the rounds. Linux only.
 *
 * `bun bench/cpu-per-request.ts [--mode answers|streams] [--warmup 15000] [--rounds 10] [--requests 1000] [TREE …]`
 * A tree is a checkout of this repository, by default this one; two of them are compared in the same run.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

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

const here = import.meta.dir;
const scratch = mkdtempSync(join(tmpdir(), "smart-gateway-bench-"));
const started: Bun.Subprocess[] = [];

interface Server {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  /** Of each round: microseconds per request, by thread. */
  readonly rounds: Map<string, number>[];
}

/** Starts a server on a core and reads the URL it prints; what it prints afterwards is read and dropped. */
async function serve(name: string, core: number, tree: string, args: string[], env: { [key: string]: string } = {}) {
  const child = Bun.spawn(["taskset", "-c", String(core), process.execPath, ...args], {
    cwd: tree,
    env: { ...process.env, ...env },
    stdout: "pipe",
    stderr: "inherit",
  });
  started.push(child);
  const reader = child.stdout.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`${name} ended before it listened:\n${text}`);
    text += decoder.decode(value, { stream: true });
    const port = /http:\/\/(?:127\.0\.0\.1|localhost):(\d+)/.exec(text)?.[1];
    if (port === undefined) continue;
    (async () => {
      while (!(await reader.read()).done);
    })();
    return { name, url: `http://127.0.0.1:${port}/v1`, pid: child.pid, rounds: [] } satisfies Server;
  }
}

async function load({ name, url }: Server, requests: string): Promise<void> {
  const args = [join(here, "load.ts"), url, options.mode, "32", "600", requests];
  const child = Bun.spawn(["taskset", "-c", "1", process.execPath, ...args], { stdout: "pipe", stderr: "inherit" });
  started.push(child);
  const { statuses } = JSON.parse(await new Response(child.stdout).text()) as {
    statuses: { [status: string]: number };
  }; // our own
  const failed = Object.keys(statuses).filter((status) => status !== "200");
  if (failed.length > 0) console.warn(`${name} did not answer 200 to all: ${JSON.stringify(statuses)}`);
}

/** Nanoseconds that each thread has run. */
function ran(pid: number): Map<string, { readonly name: string; readonly ns: number }> {
  const threads = new Map<string, { name: string; ns: number }>();
  for (const id of readdirSync(`/proc/${pid}/task`)) {
    try {
      const name = readFileSync(`/proc/${pid}/task/${id}/comm`, "utf8").trim();
      threads.set(id, { name, ns: Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, "utf8").split(" ")[0]) });
    } catch {
      // The thread has just ended.
    }
  }
  return threads;
}

async function round(server: Server): Promise<void> {
  const before = ran(server.pid);
  await load(server, options.requests);
  const spent = new Map([["total", 0]]);
  for (const [id, { name, ns }] of ran(server.pid)) {
    const us = (ns - (before.get(id)?.ns ?? 0)) / 1_000 / Number(options.requests);
    spent.set(name, (spent.get(name) ?? 0) + us);
    spent.set("total", (spent.get("total") ?? 0) + us);
  }
  server.rounds.push(spent);
}

function describe({ name, rounds }: Server): string {
  const threads = new Set(rounds.flatMap((spent) => [...spent.keys()]));
  const lines = [...threads].map((thread) => {
    const sorted = rounds.map((spent) => spent.get(thread) ?? 0).sort((a, b) => a - b);
    const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
    return { thread, median: at(0.5), quartile: at(0.25) };
  });
  return [
    `${name}: microseconds of processor time per request, median (lower quartile)`,
    ...lines
      .filter(({ median }) => median >= 1)
      .sort((a, b) => b.median - a.median)
      .map(({ thread, median, quartile }) => `  ${thread.padEnd(16)} ${median.toFixed(0)} (${quartile.toFixed(0)})`),
  ].join("\n");
}

async function run(): Promise<void> {
  const upstream = await serve("upstream", 1, here, [join(here, "instant-upstream.ts")]);
  const servers: Server[] = [await serve("bare proxy", 0, here, [join(here, "bare-proxy.ts"), upstream.url])];
  const policy = join(scratch, "policy.yaml");
  await Bun.write(
    policy,
    "budget: { per_goal_soft_usd: 900000, per_goal_hard_usd: 900000, per_day_soft_usd: 900000, per_day_hard_usd: 900000 }\n",
  );
  for (const tree of positionals.length === 0 ? [join(here, "..")] : positionals) {
    const env = {
      HOST: "127.0.0.1",
      PORT: "0",
      UPSTREAM_BASE_URL: upstream.url,
      UPSTREAM_API_KEY: "bench-upstream-key",
      DATABASE_URL: `sqlite:${join(scratch, String(servers.length), "gateway.db")}`,
      ROUTING_POLICY_PATH: policy,
      LOG_FORMAT: "json",
    };
    servers.push(await serve(tree, 0, resolve(tree), ["src/main.ts", "serve"], env));
  }
  for (const server of servers) await load(server, options.warmup);
  for (let count = 0; count < Number(options.rounds); count++) for (const server of servers) await round(server);
  for (const server of servers) console.log(describe(server));
}

try {
  await run();
} finally {
  for (const child of started) child.kill();
  await Promise.all(started.map((child) => child.exited));
  rmSync(scratch, { recursive: true, force: true });
}
