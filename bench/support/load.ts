/**
 * A load generator in a process of its own. Prints one line of JSON. Usage:
 * `bun bench/support/load.ts URL WORKLOAD CONNECTIONS SECONDS [REQUESTS [SEED [SKIPPED [HEADER …]]]]`; it ends with the time or the
 * requests, whichever first. SKIPPED requests of each connection are left out at the start, because an earlier run has sent them.
 * A HEADER (`name: value`) is sent with each request.
 */
import { Connections } from "./connections.ts";
import { quantile } from "./quantiles.ts";

const [
  target = "",
  workload = "answers",
  connections = "32",
  seconds = "3",
  requests,
  seed = "seed",
  skipped = "0",
  ...headers
] = process.argv.slice(2);
const load = new Connections({
  target,
  workload,
  connections: Number(connections),
  seed,
  skipped: Number(skipped),
  headers,
});
const startedAt = performance.now();
const most = requests === undefined ? Number.POSITIVE_INFINITY : Number(requests);
const { latencies, statuses, firstProblem } = await load.send(most, Number(seconds) * 1_000);
load.close();
const elapsed = (performance.now() - startedAt) / 1_000;
// Whoever reads the report expects numbers, also when nothing was answered.
const percentile = (share: number) => (latencies.length === 0 ? 0 : quantile(latencies, share));
console.log(
  JSON.stringify({
    answers: latencies.length,
    perSecond: latencies.length / elapsed,
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    statuses,
    firstProblem,
  }),
);
