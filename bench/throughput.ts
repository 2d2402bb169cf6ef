/**
 * Requests a second, p50 and p99 of the gateway beside the barest proxy this runtime allows: same core, same run, rounds in
 * turn, so that a busy machine slows both. The load generator and an upstream without latency share the other core.
 *
 * `bun bench/throughput.ts [--seconds 3] [--rounds 3] [--connections 32] [--warmup 8] [--gateway URL] [--proxy URL] [--json]`
 * With `--gateway` or `--proxy` a running server is measured instead of one started here.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "3" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "32" },
    warmup: { type: "string", default: "8" },
    gateway: { type: "string" },
    proxy: { type: "string" },
    json: { type: "boolean", default: false },
  },
});

interface Measured {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  statuses: { [status: string]: number };
  firstProblem?: string;
}

const here = import.meta.dir;
const root = join(here, "..");
const scratch = mkdtempSync(join(tmpdir(), "smart-gateway-bench-"));
const canPin = cpus().length > 1 && Bun.which("taskset") !== null;
const started: Bun.Subprocess[] = [];

function spawn(core: number, args: readonly string[], env: { [name: string]: string } = {}) {
  const pin = canPin ? ["taskset", "-c", String(core)] : [];
  const child = Bun.spawn([...pin, process.execPath, ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdout: "pipe",
    // Where the gateway prints its greeting; what goes wrong shows in the answers.
    stderr: "ignore",
  });
  started.push(child);
  return child;
}

/** Starts a server and reads the URL it prints. The rest of its output is read and dropped, or it would stall. */
async function serverUrl(core: number, args: readonly string[], env: { [name: string]: string } = {}): Promise<string> {
  const reader = spawn(core, args, env).stdout.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`${args[0]} ended before it listened:\n${text}`);
    text += decoder.decode(value, { stream: true });
    const port = /http:\/\/(?:127\.0\.0\.1|localhost):(\d+)/.exec(text)?.[1];
    if (port === undefined) continue;
    (async () => {
      while (!(await reader.read()).done);
    })();
    return `http://127.0.0.1:${port}/v1`;
  }
}

async function measure(target: string, mode: string, seconds: string): Promise<Measured> {
  const child = spawn(1, [join(here, "load.ts"), target, mode, options.connections, seconds]);
  const measured: Measured = JSON.parse(await new Response(child.stdout).text());
  const failed = Object.entries(measured.statuses).filter(([status]) => status !== "200");
  if (failed.length > 0 || measured.firstProblem !== undefined)
    throw new Error(`${target} did not answer 200 to all: ${JSON.stringify(measured)}`);
  return measured;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

const medians = (rounds: readonly Measured[]) => ({
  perSecond: median(rounds.map((round) => round.perSecond)),
  p50Ms: median(rounds.map((round) => round.p50Ms)),
  p99Ms: median(rounds.map((round) => round.p99Ms)),
});

async function run(): Promise<void> {
  const upstream = await serverUrl(1, [join(here, "instant-upstream.ts")]);
  const proxy = options.proxy ?? (await serverUrl(0, [join(here, "bare-proxy.ts"), upstream]));
  const policy = join(scratch, "policy.yaml");
  // Caps that a benchmark cannot reach; all else as shipped.
  await Bun.write(
    policy,
    "budget: { per_goal_soft_usd: 900000, per_goal_hard_usd: 900000, per_day_soft_usd: 900000, per_day_hard_usd: 900000 }\n",
  );
  const gateway =
    options.gateway ??
    (await serverUrl(0, ["src/main.ts", "serve"], {
      HOST: "127.0.0.1",
      PORT: "0",
      UPSTREAM_BASE_URL: upstream,
      UPSTREAM_API_KEY: "bench-upstream-key",
      DATABASE_URL: `sqlite:${join(scratch, "data", "gateway.db")}`,
      ROUTING_POLICY_PATH: policy,
      LOG_FORMAT: "json",
    }));

  const results = [];
  for (const mode of ["answers", "streams"]) {
    // The runtime compiles in the background what it finds hot, on the same core: figures are for a process that has warmed up.
    await measure(proxy, mode, options.warmup);
    await measure(gateway, mode, options.warmup);
    const proxyRounds: Measured[] = [];
    const gatewayRounds: Measured[] = [];
    for (let round = 0; round < Number(options.rounds); round++) {
      proxyRounds.push(await measure(proxy, mode, options.seconds));
      gatewayRounds.push(await measure(gateway, mode, options.seconds));
    }
    const ratios = gatewayRounds.map((round, index) => round.perSecond / (proxyRounds[index]?.perSecond ?? Number.NaN));
    results.push({ mode, proxy: medians(proxyRounds), gateway: medians(gatewayRounds), ratio: median(ratios), ratios });
  }
  if (options.json) console.log(JSON.stringify(results));
  else for (const result of results) console.log(describe(result));
  if (!options.json) console.log(canPin ? "server on core 0, load and upstream on core 1" : "not pinned to cores");
}

function describe(result: {
  mode: string;
  proxy: ReturnType<typeof medians>;
  gateway: ReturnType<typeof medians>;
  ratio: number;
  ratios: number[];
}): string {
  const line = (name: string, measured: ReturnType<typeof medians>) =>
    `${result.mode.padEnd(8)} ${name.padEnd(10)} ${measured.perSecond.toFixed(0).padStart(7)}/s   p50 ${measured.p50Ms.toFixed(2)} ms   p99 ${measured.p99Ms.toFixed(2)} ms`;
  const each = result.ratios.map((ratio) => ratio.toFixed(2)).join(", ");
  return `${line("bare proxy", result.proxy)}\n${line("gateway", result.gateway)}\n${result.mode.padEnd(8)} ratio      ${result.ratio.toFixed(2)} (rounds: ${each})\n`;
}

try {
  await run();
} finally {
  for (const child of started) child.kill();
  await Promise.all(started.map((child) => child.exited));
  rmSync(scratch, { recursive: true, force: true });
}
