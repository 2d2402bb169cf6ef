/**
 * What decision records cost and how quickly they are read.
 *
 * `bun bench/records.ts [--records 1000000] [--pairs 200] [--skip cpu|store]`
 *
 * `cpu`: processor time per request of one gateway, with records and without them by turns (Linux only). With `TMPDIR` in memory,
 * stalls of the disk do not count. `store`: so many records over 30 days in an SQLite file; then queries, sums and series of the
 * dashboard, an export, a backtest, and retention under writing.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { aPolicy, aRegistry } from "#pipeline/decide/fixtures.ts";
import { backtest } from "#records/backtest/backtest.ts";
import { ConfigNames } from "#records/config-names.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import { aDecisionRecord, someInputs } from "#records/fixtures.ts";
import { openRecordStore } from "#records/open-record-store.ts";
import type { RecordStore } from "#records/store/record-store.ts";
import { median } from "./support/quantiles.ts";
import { measureRecordsCost } from "./support/records/records-cost.ts";

const { values: options } = parseArgs({
  options: {
    records: { type: "string", default: "1000000" },
    pairs: { type: "string", default: "200" },
    skip: { type: "string" },
  },
});
const count = Number(options.records);
const batch = 128;
const dayMs = 86_400_000;

if (options.skip !== "cpu") await measureRecordsCost(Number(options.pairs));
if (options.skip !== "store") await measureStore();

async function measureStore(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-records-"));
  try {
    const path = join(folder, "gateway.db");
    const store = await openRecordStore(`sqlite:${path}`);
    await measureOpened(store, path);
    await store.close();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureOpened(store: RecordStore, path: string): Promise<void> {
  const endMs = Math.floor(Date.now() / 3_600_000) * 3_600_000;
  const startMs = endMs - 30 * dayMs;
  const policy = aPolicy();
  const registry = aRegistry();
  let hash = "";
  const saved: Promise<void>[] = [];
  const names = new ConfigNames(
    (config) => saved.push(store.saveConfig(config)),
    () => startMs,
  );
  hash = names.nameOf(policy, registry);
  await Promise.all(saved);
  const recordAt = (n: number) => someRecord(n, startMs + (n * 30 * dayMs) / count, hash);
  const began = performance.now();
  for (let n = 0; n < count; n += batch) {
    await store.append(Array.from({ length: Math.min(batch, count - n) }, (_, index) => recordAt(n + index)));
  }
  const size = await store.size();
  const onDisk = statSync(path).size;
  console.log(
    `${count} records written in ${seconds(began)}; ${(onDisk / 1e6).toFixed(0)} MB in the file, ${(size.bytes / 1e6).toFixed(0)} MB as counted, ${Math.round(onDisk / count)} bytes each`,
  );

  const month = { fromMs: startMs, toMs: endMs };
  const lastDay = { fromMs: endMs - dayMs, toMs: endMs };
  const queries: readonly (readonly [string, () => Promise<unknown>])[] = [
    ["newest 100", () => store.query({}, { limit: 100 })],
    ["100 in the middle", () => store.query({ toMs: startMs + 15 * dayMs }, { limit: 100 })],
    ["of one goal", () => store.query({ goal: "s3/goal-77" }, { limit: 100 })],
    ["of one session", () => store.query({ session: "s3" }, { limit: 100 })],
    ["of a rare cause", () => store.query({ cause: ["attempts_exhausted"] }, { limit: 100 })],
    [
      "of a common cause, one model",
      () => store.query({ cause: ["hard_pro_rule"], model: ["vendor_v4_pro"] }, { limit: 100 }),
    ],
    ["a hard rule by its name", () => store.query({ rule: "files_touched" }, { limit: 100 })],
    ["refusals of the gateway", () => store.query({ refusedBy: ["gateway"], outcome: ["refused"] }, { limit: 100 })],
    ["statuses 5xx", () => store.query({ status: ["5xx"], outcome: ["failed"] }, { limit: 100 })],
    ["alias that nobody uses", () => store.query({ alias: ["smart-router-free"] }, { limit: 100 })],
    ["one by request id", () => store.get("r777")],
    ["summary of 24 h", () => store.summary(lastDay, {}, endMs)],
    ["summary of 30 days", () => store.summary(month, {}, endMs)],
    ["summary of 30 days, one tier", () => store.summary(month, { tier: ["pro"] }, endMs)],
    ["series: cost by tier, 30 days", () => store.series({ metric: "cost_nano_usd", by: "tier", range: month }, endMs)],
    ["series: first token p95, 24 h", () => store.series({ metric: "first_token_p95_ms", range: lastDay }, endMs)],
    ["goals of 30 days, top 50 by cost", () => store.groups("goal", month, 50)],
    ["sessions of 30 days", () => store.groups("session", month, 50)],
  ];
  for (const [name, run] of queries) {
    const first = performance.now();
    await run();
    const cold = performance.now() - first;
    const times: number[] = [];
    for (let round = 0; round < 5; round++) {
      const from = performance.now();
      await run();
      times.push(performance.now() - from);
    }
    console.log(`${name.padEnd(34)} ${median(times).toFixed(1).padStart(7)} ms (first ${cold.toFixed(1)} ms)`);
  }

  await measureReading(store, endMs);
  await measureRetention(store, path, recordAt);
}

async function measureReading(store: RecordStore, endMs: number): Promise<void> {
  let exported = 0;
  let bytes = 0;
  let peak = 0;
  Bun.gc(true);
  const rssBefore = process.memoryUsage.rss();
  const exporting = performance.now();
  for await (const records of store.export({})) {
    for (const record of records) bytes += JSON.stringify(record).length;
    exported += records.length;
    peak = Math.max(peak, process.memoryUsage.rss());
  }
  console.log(
    `export of ${exported} records, ${(bytes / 1e6).toFixed(0)} MB of JSON, in ${seconds(exporting)}; memory at most ${((peak - rssBefore) / 1e6).toFixed(0)} MB above ${(rssBefore / 1e6).toFixed(0)} MB`,
  );

  const replaying = performance.now();
  const other = aPolicy({ routing: { flash_below: 10, pro_from: 30 } });
  const replayed = await backtest({
    records: store.export({ fromMs: endMs - 30 * dayMs * Math.min(1, 100_000 / count) }),
    policy: other,
    registry: aRegistry(),
    configuration: (name) => store.config(name),
  });
  console.log(`backtest of ${replayed.requests} records in ${seconds(replaying)}; ${replayed.changed} changed`);
}

/** Continues to write at the size limit: as much must be deleted as is written, and the file must not grow. */
async function measureRetention(store: RecordStore, path: string, make: (n: number) => DecisionRecord): Promise<void> {
  const limit = (await store.size()).bytes;
  const before = statSync(path).size;
  const began = performance.now();
  let deleted = 0;
  let slowest = 0;
  const more = Math.round(count / 10);
  for (let n = count; n < count + more; n += batch) {
    await store.append(Array.from({ length: batch }, (_, index) => make(n + index)));
    while ((await store.size()).bytes > limit) {
      const from = performance.now();
      deleted += await store.prune(0, limit, 256);
      slowest = Math.max(slowest, performance.now() - from);
    }
  }
  console.log(
    `${more} more at the size limit in ${seconds(began)}: ${deleted} deleted, a chunk in at most ${slowest.toFixed(0)} ms; the file grew from ${(before / 1e6).toFixed(0)} to ${(statSync(path).size / 1e6).toFixed(0)} MB`,
  );
}

function seconds(sinceMs: number): string {
  return `${((performance.now() - sinceMs) / 1_000).toFixed(1)} s`;
}

/** The n-th record, with differences as in real ones: numbers everywhere, a few goals, rare causes. */
function someRecord(index: number, recordedMs: number, policyHash: string): DecisionRecord {
  // A simple sequence without a visible pattern, the same in each run.
  const chance = (salt: number) =>
    ((Math.imul(index + 1, 2_654_435_761) ^ Math.imul(salt + 1, 40_503)) >>> 0) / 2 ** 32;
  const pro = chance(1) < 0.2;
  const refused = chance(2) < 0.03;
  const failed = !refused && chance(3) < 0.01;
  const rare = chance(4) < 0.0001;
  const prompt = Math.floor(chance(5) ** 3 * 60_000);
  const completion = Math.floor(chance(6) ** 2 * 2_000);
  const cost = prompt * (pro ? 435 : 140) + completion * (pro ? 870 : 280);
  const session = `s${index % 10}`;
  const goal = chance(7) < 0.5 ? "adhoc" : `${session}/goal-${Math.floor(chance(8) * 200)}`;
  const record = aDecisionRecord(index, { recorded_ms: Math.floor(recordedMs) });
  const [attempt] = record.attempts;
  const tokens = { prompt, cached: Math.floor(prompt * chance(9)), cache_write: 0, completion, reasoning: 0 };
  return {
    ...record,
    seq: record.recorded_ms * 1024 + (index % 1024),
    decision_id: Bun.randomUUIDv7("hex", Math.floor(recordedMs)),
    request_id: index === 777 ? "r777" : crypto.randomUUID(),
    session: goal === "adhoc" ? null : session,
    goal,
    conversation: `c${Math.floor(index / 12)}`,
    model: refused ? null : pro ? "vendor_v4_pro" : "vendor_v4_flash",
    served_by: refused || failed ? null : pro ? "vendor_v4_pro" : "vendor_v4_flash",
    tier: refused ? null : pro ? "pro" : "flash",
    cause: rare ? "attempts_exhausted" : refused ? "budget_hard_cap_exceeded" : pro ? "hard_pro_rule" : "score_flash",
    rule: pro ? (chance(10) < 0.01 ? "files_touched" : "same_error_count") : null,
    status: refused ? 403 : failed ? 502 : 200,
    outcome: refused ? "refused" : failed ? "failed" : "answered",
    refused_by: refused ? "gateway" : failed ? "upstream" : null,
    score: Math.round(chance(11) * 10_000) / 100,
    inputs: inputsOf(chance, pro, prompt),
    features: Object.fromEntries(
      ["characters", "words", "distinct_words", "code_lines", "numbers", "commas"].map((name, at) => [
        name,
        Math.floor(chance(20 + at) * 900),
      ]),
    ),
    evidence: evidenceOf(chance),
    attempts:
      refused || attempt === undefined
        ? []
        : [{ ...attempt, tokens, cost_nano_usd: cost, duration_ms: chance(40) * 9_000 }],
    tokens: refused ? null : tokens,
    cost_nano_usd: refused ? 0 : cost,
    baseline_nano_usd: refused ? null : prompt * 435 + completion * 870,
    timings: {
      gate_ms: chance(41),
      decision_ms: chance(42),
      ledger_ms: chance(43) * 3,
      first_token_ms: refused ? null : chance(44) * 3_000,
      total_ms: chance(40) * 9_000,
    },
    policy_hash: policyHash,
  };
}

/** A number from 0 to 1 for each salt. */
type Chance = (salt: number) => number;

function inputsOf(chance: Chance, pro: boolean, prompt: number): DecisionRecord["inputs"] {
  const dimension = (salt: number) => Math.round(chance(salt) * 1_000) / 1_000;
  return {
    ...someInputs,
    task: {
      ...someInputs.task,
      reasoning_requirement: dimension(12),
      ambiguity: dimension(13),
      dependency_depth: dimension(14),
      verification_difficulty: dimension(15),
    },
    runtime: { ...someInputs.runtime, same_error_count: pro ? 2 : 0, tool_depth: Math.floor(chance(16) * 12) },
    size: { ...someInputs.size, input_tokens_bound: prompt * 4, input_tokens_estimate: prompt },
    spend: {
      ...someInputs.spend,
      day_spent_nano_usd: Math.floor(chance(17) * 1e9),
      goal_spent_nano_usd: Math.floor(chance(18) * 1e8),
    },
  };
}

function evidenceOf(chance: Chance): string[] {
  return [
    "kind=CODING",
    "risk_level=LOW",
    "sensitive=true",
    `points_reasoning_requirement=${(chance(30) * 25).toFixed(2)}`,
    `points_ambiguity=${(chance(31) * 15).toFixed(2)}`,
    `points_dependency_depth=${(chance(32) * 15).toFixed(2)}`,
    `points_verification_difficulty=${(chance(33) * 20).toFixed(2)}`,
    `points=${(chance(34) * 80).toFixed(2)}`,
    "score_scale=agent",
    `score=${(chance(11) * 100).toFixed(2)}`,
  ];
}
