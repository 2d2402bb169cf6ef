/**
 * Requests a second, p50 and p99 of the gateway beside the barest proxy this runtime allows: same core, same run, rounds in
 * turn, so that a busy machine slows both. The load generator and an upstream without latency share the other core.
 *
 * `bun bench/throughput.ts [--mode answers|streams] [--seconds 1] [--rounds 15] [--connections 32] [--warmup 20000] [--gateway URL]
 * [--proxy URL] [--json]`; both modes without `--mode`. With `--gateway` or `--proxy` a running server is measured instead of one
 * started here.
 */
import { parseArgs } from "node:util";
import { median } from "./support/quantiles.ts";
import { canPin, type Load, Servers } from "./support/servers.ts";

const { values: options } = parseArgs({
  options: {
    mode: { type: "string" },
    seconds: { type: "string", default: "1" },
    rounds: { type: "string", default: "15" },
    connections: { type: "string", default: "32" },
    // Requests, not seconds: a slow machine needs longer for the same number.
    warmup: { type: "string", default: "20000" },
    gateway: { type: "string" },
    proxy: { type: "string" },
    json: { type: "boolean", default: false },
  },
});

await using servers = new Servers();

const maxWarmupS = "60";

async function measure(target: string, mode: string, ...bounds: readonly string[]): Promise<Load> {
  const measured = await servers.load(target, mode, options.connections, ...bounds);
  const failed = Object.entries(measured.statuses).filter(([status]) => status !== "200");
  if (failed.length > 0 || measured.firstProblem !== undefined)
    throw new Error(`${target} did not answer 200 to all: ${JSON.stringify(measured)}`);
  return measured;
}

const medians = (rounds: readonly Load[]) => ({
  perSecond: median(rounds.map((round) => round.perSecond)),
  p50Ms: median(rounds.map((round) => round.p50Ms)),
  p99Ms: median(rounds.map((round) => round.p99Ms)),
});

async function run(): Promise<void> {
  const upstream = await servers.upstream();
  const proxy = options.proxy ?? (await servers.proxy(upstream)).url;
  const gateway = options.gateway ?? (await servers.gateway(upstream)).url;
  const results = [];
  for (const mode of options.mode === undefined ? ["answers", "streams"] : [options.mode]) {
    // The runtime compiles hot code in the background on the same core, so only a warmed-up process is measured.
    await measure(proxy, mode, maxWarmupS, options.warmup);
    await measure(gateway, mode, maxWarmupS, options.warmup);
    const proxyRounds: Load[] = [];
    const gatewayRounds: Load[] = [];
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

await run();
