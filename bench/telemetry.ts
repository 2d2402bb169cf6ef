// The cost of logging and counting one finished request: its metrics, and its log line on the way to standard output.
// Run with: node_modules/.bin/bun bench/telemetry.ts > /dev/null      (figures go to standard error)
import { nanoUsd } from "#domain/money/money.ts";
import type { RequestRecord } from "#records/record.ts";
import { createLog, requestFields } from "#telemetry/log/log.ts";
import { createMetrics } from "#telemetry/metrics/metrics.ts";
import { median } from "./support/quantiles.ts";

const record: RequestRecord = {
  requestId: "req_0123456789abcdef",
  decisionId: "dec_0123456789abcdef",
  atMs: 1_790_000_000_000,
  begunMs: 0,
  alias: "smart-router",
  stream: true,
  decision: {
    task_id: "task-1",
    action: "ROUTE",
    model: "vendor_v4_flash",
    purpose: "EXECUTE",
    cause: "score_flash",
    score: 21.1,
    confidence: 0.8,
    hard_rule: false,
    sensitive_block_applied: false,
    evidence: [],
    policy_version: "1",
  },
  status: 200,
  outcome: "answered",
  answeredBy: "vendor_v4_flash",
  attempts: [
    {
      id: "dec-1.1",
      startedMs: 1,
      model: "vendor_v4_flash",
      purpose: "EXECUTE",
      outcome: "answered",
      durationMs: 1_200,
      holdNanoUsd: nanoUsd(5_000_000),
      costNanoUsd: nanoUsd(1_500_000),
      usage: { input: 1_000, cachedInput: 400, output: 200, reasoning: 50 },
    },
  ],
  costNanoUsd: nanoUsd(1_500_000),
  redactions: [],
  timings: { decisionMs: 0.12, firstTokenMs: 300, totalMs: 1_300 },
};

const log = createLog({ level: "info", format: "json", nodeId: "bench" });
const metrics = createMetrics();
const calls = 20_000;
const rounds = 7;

for (const [name, tell] of [
  ["metrics of a request", () => metrics.requestFinished(record)],
  ["log line of a request", () => log("request_finished", requestFields(record))],
] as const) {
  const microseconds: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage();
    for (let call = 0; call < calls; call++) {
      tell();
      // A turn of the event loop passes, as between requests, so that lines are really written.
      if (call % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    const { user, system } = process.cpuUsage(before);
    microseconds.push((user + system) / calls);
  }
  console.error(`${name}: ${median(microseconds).toFixed(2)} µs of processor time (median of ${rounds} rounds)`);
}
