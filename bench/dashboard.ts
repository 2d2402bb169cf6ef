// How long the dashboard's endpoints take with many records in SQLite, over a socket.
//   node_modules/.bin/bun bench/dashboard.ts [--records 1000000] [--runs 7]
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { DecisionRecord } from "#records/decision-record.ts";
import { aDecisionRecord } from "#records/fixtures.ts";
import { openRecordStore } from "#records/open-record-store.ts";
import { start } from "../test/harness/gateway.ts";

const { values } = parseArgs({
  options: { records: { type: "string", default: "1000000" }, runs: { type: "string", default: "7" } },
});
const count = Number(values.records);
const runs = Number(values.runs);
const folder = mkdtempSync(join(tmpdir(), "dashboard-bench-"));
const databaseUrl = `sqlite:${join(folder, "gateway.db")}`;
const spanMs = 7 * 24 * 3_600_000;
const perBlock = 512;

/** A week of a busy installation: tiers, causes and goals in shares as they come, one in forty refused. */
function recordAt(n: number, startMs: number): DecisionRecord {
  const recorded_ms = startMs + Math.floor((n * spanMs) / count);
  // Sixty goals at a time, others each day.
  const goal = (n % 60) + 40 * Math.floor((7 * n) / count);
  const refused = n % 40 === 0;
  const pro = n % 5 === 0;
  return aDecisionRecord(n, {
    seq: recorded_ms * 1024 + (n % 1024),
    recorded_ms,
    goal: `team-${goal % 7}/goal-${goal}`,
    session: `team-${goal % 7}`,
    conversation: `c${n % 5_000}`,
    cost_nano_usd: refused ? 0 : (pro ? 900_000 : 40_000) + (n % 1_000),
    ...(pro
      ? { tier: "pro", model: "vendor_v4_pro", served_by: "vendor_v4_pro", cause: "hard_pro_rule", rule: "tool_depth" }
      : {}),
    ...(refused
      ? {
          outcome: "refused",
          status: 403,
          refused_by: "gateway",
          cause: "budget_hard_cap_exceeded",
          served_by: null,
          baseline_nano_usd: null,
        }
      : {}),
  });
}

try {
  const startMs = Date.now() - spanMs;
  const store = await openRecordStore(databaseUrl);
  const writing = performance.now();
  for (let from = 0; from < count; from += perBlock) {
    const block = Array.from({ length: Math.min(perBlock, count - from) }, (_, at) => recordAt(from + at, startMs));
    await store.append(block);
  }
  await store.close();
  console.log(`${count} records written in ${Math.round(performance.now() - writing)} ms`);

  await using gateway = await start({ env: { DATABASE_URL: databaseUrl } });
  const base = `${gateway.url}/dashboard/api/`;
  const paths = [
    "session",
    "summary?range=24h",
    "summary?range=7d",
    "summary?range=30d",
    "decisions",
    "decisions?range=7d&cause=hard_pro_rule",
    "decisions?range=7d&goal=team-3/goal-10",
    "decisions?range=7d&session=team-3",
    "decisions?range=7d&outcome=refused",
    "decisions?range=7d&model=vendor_v4_pro&status=2xx",
    "series?metric=cost_nano_usd&by=tier&range=7d",
    "series?metric=requests&by=cause&range=30d",
    "series?metric=first_token_p95_ms&range=7d",
    "budgets?range=7d",
    "holds",
    "models?range=7d",
    "policy",
  ];
  const list = await fetch(`${base}decisions?range=7d&limit=1`);
  const { rows } = (await list.json()) as { rows: { decision_id: string }[] }; // the schema of the answer
  paths.push(`decisions/${rows[0]?.decision_id}`);
  console.log("endpoint".padEnd(58), "first", "median", "  max", "(ms)");
  for (const path of paths) {
    const times: number[] = [];
    for (let run = 0; run < runs; run += 1) {
      const begun = performance.now();
      const reply = await fetch(base + path);
      await reply.text();
      if (reply.status !== 200) throw new Error(`${path}: ${reply.status}`);
      times.push(performance.now() - begun);
      // Longer than the ledger's reading is shared.
      await Bun.sleep(50);
    }
    const sorted = times.toSorted((a, b) => a - b);
    const shown = [times[0] ?? 0, sorted[Math.floor(runs / 2)] ?? 0, sorted.at(-1) ?? 0];
    console.log(path.slice(0, 58).padEnd(58), ...shown.map((ms) => ms.toFixed(0).padStart(5)));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
