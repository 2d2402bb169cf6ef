/**
 * Mixed traffic with faults for a given time: does memory grow, do descriptors leak, does the ledger still balance?
 *
 * `bun bench/soak.ts [--minutes 1] [--callers 24] [--seed 1]`
 */

import { parseArgs } from "node:util";
import type { JsonObject } from "#domain/chat.ts";
import { systemClock } from "#platform/system-clock.ts";
import { seededRandom } from "#platform/testing/seeded-random.ts";
import { loadConfig } from "#policy/load-config.ts";
import { chunk, completes, disconnects, fails, replies, silent, streams, writesRaw } from "#simulator/behaviours.ts";
import type { Behaviour } from "#simulator/simulated-exchange.ts";
import { startSimulator } from "#simulator/simulator.ts";
import { serve } from "../test/harness/process.ts";
import { auditOf, type Bar, descriptors, report, residentBytes } from "./support/measure.ts";

const { values: options } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    callers: { type: "string", default: "24" },
    seed: { type: "string", default: "1" },
  },
});
const minutes = Number(options.minutes);
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const random = seededRandom(Number(options.seed));
const oneOf = <T>(things: readonly T[]): T => things[Math.floor(random() * things.length)] as T; // never empty

const words = (count: number) => Array.from({ length: count }, () => chunk({ content: "word " }));
const bill = 2_000;
const faults: readonly (() => Behaviour)[] = [
  () => fails(500),
  () => fails(503),
  () => fails(400),
  () => fails(429, "slow down", { "retry-after": "0" }),
  () => disconnects("rst", { bills: bill }),
  () => disconnects("fin", { bills: bill }),
  () => silent({ bills: bill }),
  () => replies(200, "<html>", { bills: bill }),
  () => replies(200, { error: { code: 502, message: "provider" } }),
  () => streams({ events: words(5), end: "fin", bills: bill }),
  () => streams({ events: words(5), end: "rst", bills: bill }),
  () => streams({ events: words(5), end: "silence", bills: bill }),
  () => streams({ events: [...words(3), "data: {broken\n\n"], end: "silence", bills: bill }),
  () => streams({ events: words(5), end: "clean", bills: bill }),
  () => writesRaw("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{", "fin", { bills: bill }),
];

const loaded = await loadConfig({});
if (loaded.kind === "invalid") throw new Error("the shipped configuration is invalid");
const models = [...loaded.config.registry.models.values()];
const upstream = await startSimulator({
  models: () => models,
  clock: systemClock,
  random,
  // One call in ten fails; the others get long or short answers.
  script: () => (random() < 0.1 ? oneOf(faults)() : completes({ text: "word ".repeat(Math.ceil(random() * 200)) })),
});

const timeouts = {
  connect: 500,
  headers: 500,
  first_event: 500,
  first_event_reasoning: 500,
  idle: 500,
  idle_data: 800,
};
const budget = {
  per_goal_soft_usd: 900_000,
  per_goal_hard_usd: 900_000,
  per_day_soft_usd: 900_000,
  per_day_hard_usd: 900_000,
};
// Health recovers quickly here: a soak with every model in quarantine would test refusals only.
const health = {
  open_base_ms: 200,
  open_max_ms: 1_000,
  trips_to_quarantine: 1_000_000,
  garbage_in_a_row: 1_000,
  garbage_share: 1,
};
const policy = { budget, health, upstream: { backoff_base_ms: 5, timeouts_ms: timeouts } };
const policyFile = `${process.env["TMPDIR"] ?? "/tmp"}/smart-gateway-soak-${process.pid}.json`;
await Bun.write(policyFile, JSON.stringify(policy));

const gateway = await serve({
  UPSTREAM_BASE_URL: upstream.url,
  UPSTREAM_API_KEY: "bench-upstream-key",
  ROUTING_POLICY_PATH: policyFile,
});
const databaseUrl = `sqlite:${gateway.directory}/data/gateway.db`;
const pid = gateway.child.pid;

let requests = 0;
const statuses: { [status: string]: number } = {};
const count = (status: string) => {
  requests += 1;
  statuses[status] = (statuses[status] ?? 0) + 1;
};
const endsAt = performance.now() + minutes * 60_000;

/** One caller: sends requests, and reads all, a part or nothing of the answer, or disconnects. */
async function keepAsking(caller: number): Promise<void> {
  while (performance.now() < endsAt) {
    const stream = random() < 0.6;
    const body: JsonObject = {
      model: oneOf(["smart-router", "smart-router-flash", "smart-router-pro", "smart-router-free"]),
      stream,
      max_tokens: 400,
      metadata: { sensitive: random() < 0.5 },
      messages: [{ role: "user", content: `${"Rename a variable. ".repeat(Math.ceil(random() * 60))}` }],
    };
    const leaving = new AbortController();
    const leaves = random() < 0.15;
    try {
      const pending = fetch(`${gateway.url}/v1/chat/completions`, {
        method: "POST",
        headers: {
          authorization: "Bearer soak-token-0123456789",
          "content-type": "application/json",
          "x-goal-id": `goal-${caller}-${Math.floor(random() * 50)}`,
          "x-task-id": `task-${Math.floor(random() * 5_000)}`,
        },
        body: JSON.stringify(body),
        signal: leaving.signal,
      });
      if (leaves && random() < 0.5) {
        await sleep(random() * 20);
        leaving.abort();
      }
      const response = await pending;
      count(String(response.status));
      if (leaves) {
        await response.body?.getReader().read();
        leaving.abort();
      } else await response.text();
    } catch {
      count("left");
    }
    await sleep(random() * 20);
  }
}

interface Sample {
  readonly atMs: number;
  readonly resident: number;
  readonly descriptors: number;
}
const samples: Sample[] = [];
const startedAt = performance.now();
const sampling = setInterval(() => {
  const resident = residentBytes(pid);
  const open = descriptors(pid);
  if (resident !== undefined && open !== undefined)
    samples.push({ atMs: performance.now() - startedAt, resident, descriptors: open });
}, 2_000);

/** The slope by least squares, in bytes per minute. */
function slope(points: readonly Sample[]): number {
  const meanAt = points.reduce((sum, point) => sum + point.atMs, 0) / points.length;
  const meanOf = points.reduce((sum, point) => sum + point.resident, 0) / points.length;
  const above = points.reduce((sum, point) => sum + (point.atMs - meanAt) * (point.resident - meanOf), 0);
  const below = points.reduce((sum, point) => sum + (point.atMs - meanAt) ** 2, 0);
  return (above / below) * 60_000;
}

const bars: Bar[] = [];
try {
  await Promise.all(Array.from({ length: Number(options.callers) }, (_, caller) => keepAsking(caller)));
  clearInterval(sampling);
  for (let turn = 0; turn < 200 && upstream.unfinished() > 0; turn++) await sleep(50);
  const unfinished = upstream.unfinished();
  gateway.signal("SIGTERM");
  const code = await gateway.exited();
  const ledger = await auditOf(databaseUrl);
  console.log(
    `${requests} requests in ${minutes} min: ${JSON.stringify(statuses)}; ${upstream.received()} upstream calls`,
  );
  for (const finding of ledger.findings) console.log(finding);

  // The first half is warm-up: caches fill, code is compiled.
  const settled = samples.slice(Math.floor(samples.length / 2));
  const growth = slope(settled) / 1e6;
  const open = settled.map((sample) => sample.descriptors);
  const megabytes = (sample: Sample | undefined) => ((sample?.resident ?? 0) / 1e6).toFixed(0);
  bars.push(
    {
      name: "resident memory, second half",
      figure: `${growth.toFixed(2)} MB/min (${megabytes(settled[0])} to ${megabytes(settled.at(-1))} MB)`,
      bar: "< 1 MB/min",
      ok: growth < 1,
    },
    {
      name: "descriptors, second half",
      figure: `${Math.min(...open)} to ${Math.max(...open)}`,
      bar: "<= 4 x callers + 64",
      ok: Math.max(...open) <= 4 * Number(options.callers) + 64,
    },
    { name: "upstream calls left open", figure: String(unfinished), bar: "0", ok: unfinished === 0 },
    { name: "the gateway drained and ended", figure: `exit code ${code}`, bar: "0", ok: code === 0 },
    {
      name: "audit of the ledger",
      figure: `${ledger.findings.length} findings`,
      bar: "none",
      ok: ledger.findings.length === 0,
    },
    {
      name: "spent + held covers the upstream's bill",
      figure: `${ledger.spentNanoUsd + ledger.heldNanoUsd} >= ${upstream.billedNanoUsd()}`,
      bar: "always",
      ok: ledger.spentNanoUsd + ledger.heldNanoUsd >= upstream.billedNanoUsd(),
    },
  );
  report(bars);
} finally {
  clearInterval(sampling);
  await gateway[Symbol.asyncDispose]();
  await upstream.stop();
  await Bun.file(policyFile).delete();
}
