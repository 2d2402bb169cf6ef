/**
 * How quickly decision records are written and read: so many over 30 days in an SQLite file, then queries, sums and series of the
 * dashboard, an export, a backtest, and retention under writing.
 *
 * `bun bench/records.ts [--records 1000000]`
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { aPolicy, aRegistry } from "#pipeline/decide/fixtures.ts";
import { backtest } from "#records/backtest/backtest.ts";
import type { RecordStore } from "#records/store/record-store.ts";
import { openRecordStore } from "#records/store/record-store.ts";
import { median } from "./support/quantiles.ts";
import { BenchRecords } from "./support/records/bench-records.ts";

const { values: options } = parseArgs({ options: { records: { type: "string", default: "1000000" } } });
const count = Number(options.records);
const dayMs = 86_400_000;

const folder = mkdtempSync(join(tmpdir(), "smart-gateway-records-"));
try {
  const path = join(folder, "gateway.db");
  const store = await openRecordStore(`sqlite:${path}`);
  await measure(store, path);
  await store.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure(store: RecordStore, path: string): Promise<void> {
  const endMs = Date.now();
  const more = Math.round(count / 10);
  const records = new BenchRecords(count + more, endMs);
  const began = performance.now();
  await records.write(store, 0, count);
  const { bytes } = await store.size();
  const onDisk = statSync(path).size;
  console.log(
    `${count} records written in ${seconds(began)}; ${(onDisk / 1e6).toFixed(0)} MB in the file, ${(bytes / 1e6).toFixed(0)} MB as counted, ${Math.round(onDisk / count)} bytes each`,
  );
  const some = (await store.query({}, { limit: 1_000 })).records;
  const goal = some.find((record) => record.goal?.includes("/"))?.goal ?? "adhoc";
  const requestId = some.at(-1)?.request_id ?? "";

  const month = { fromMs: endMs - 30 * dayMs, toMs: endMs };
  const lastDay = { fromMs: endMs - dayMs, toMs: endMs };
  const queries: readonly (readonly [string, () => Promise<unknown>])[] = [
    ["newest 100", () => store.query({}, { limit: 100 })],
    ["100 in the middle", () => store.query({ toMs: endMs - 15 * dayMs }, { limit: 100 })],
    ["of one goal", () => store.query({ goal: goal }, { limit: 100 })],
    ["of one session", () => store.query({ session: goal.split("/")[0] ?? "" }, { limit: 100 })],
    ["of a rare cause", () => store.query({ cause: ["attempts_exhausted"] }, { limit: 100 })],
    [
      "of a common cause, one model",
      () => store.query({ cause: ["hard_pro_rule"], model: ["vendor_v4_pro"] }, { limit: 100 }),
    ],
    ["a hard rule by its name", () => store.query({ rule: "files_touched" }, { limit: 100 })],
    ["refusals of the gateway", () => store.query({ refusedBy: ["gateway"], outcome: ["refused"] }, { limit: 100 })],
    ["statuses 5xx", () => store.query({ status: ["5xx"], outcome: ["failed"] }, { limit: 100 })],
    ["alias that nobody uses", () => store.query({ alias: ["smart-router-free"] }, { limit: 100 })],
    ["one by request id", () => store.get(requestId)],
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

  // Goes on to write at the size limit: as much must be deleted as is written, and the file must not grow.
  const limit = (await store.size()).bytes;
  const from = performance.now();
  let deleted = 0;
  for (let at = count; at < count + more; at += 128) {
    await records.write(store, at, Math.min(at + 128, count + more));
    while ((await store.size()).bytes > limit) deleted += await store.prune(0, limit);
  }
  console.log(
    `${more} more at the size limit in ${seconds(from)}: ${deleted} deleted; the file grew from ${(onDisk / 1e6).toFixed(0)} to ${(statSync(path).size / 1e6).toFixed(0)} MB`,
  );
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

function seconds(sinceMs: number): string {
  return `${((performance.now() - sinceMs) / 1_000).toFixed(1)} s`;
}
