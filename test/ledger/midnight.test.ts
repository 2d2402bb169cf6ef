import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import { completes } from "#simulator/behaviours.ts";
import { after } from "#simulator/testing/scripted.ts";
import { databases, startDashboard } from "../dashboard/fixture.ts";
import { eventually } from "../harness/gateway.ts";
import { stoppedClock } from "../harness/postgres-clock.ts";

const midnight = Date.UTC(2026, 10, 23);
// Flash: 0.28 USD per million output tokens. 100,000 tokens are 0.028 USD, and a little for the prompt.
const large = { max_tokens: 100_000 };
const policy = { budget: { per_day_hard_usd: 0.05, per_day_soft_usd: 0.05 } };

/** A database with a clock that the test sets; with SQLite it is the process's own. */
async function openAt(database: string, startMs: number) {
  const folder = mkdtempSync(join(tmpdir(), "midnight-"));
  const url = database === "sqlite" ? `sqlite:${join(folder, "gateway.db")}` : database;
  const moveDatabase = database === "sqlite" ? async () => {} : await stoppedClock(url);
  let nowMs = startMs;
  await moveDatabase(nowMs);
  return {
    url,
    clock: { now: () => nowMs, monotonic: () => performance.now() },
    async moveTo(epochMs: number): Promise<void> {
      nowMs = epochMs;
      await moveDatabase(epochMs);
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const runs = databases().flatMap(({ name, open }) => [true, false].map((stream) => ({ name, open, stream })));
for (const { name, open, stream } of runs) {
  test(`${name}: ${stream ? "a stream" : "an answer"} in progress at midnight UTC is charged to the day on which it was held; the new day has its own cap`, async () => {
    using store = await openAt(await open(), midnight - 20_000);
    const { url: databaseUrl, clock } = store;
    let finish = () => {};
    const gate = new Promise<void>((resolve) => {
      finish = resolve;
    });
    await using dashboard = await startDashboard("sqlite", {
      policy,
      overrides: { clock },
      env: { DATABASE_URL: databaseUrl },
    });
    const { gateway } = dashboard;
    const accounts = async () => {
      const admin = await openLedgerAdmin(databaseUrl);
      const { accounts: all } = await admin.accounts(100);
      const { findings } = await admin.audit();
      await admin.close();
      expect(findings).toEqual([]);
      return Object.fromEntries(
        all.filter(({ id }) => id.startsWith("day/")).map(({ id, spent, held }) => [id, { spent, held }]),
      );
    };
    const gauge = async (kind: string) => {
      const text = await (await gateway.get("/metrics")).text();
      return Number(new RegExp(`^smart_gateway_budget_day_usd\\{[^}]*"${kind}"[^}]*\\} (\\S+)`, "m").exec(text)?.[1]);
    };

    gateway.upstream.next(after(gate, completes({ text: "an evening's answer" })));
    const running = gateway.chat({ ...large, stream }, { "x-goal-id": "evening" });
    await eventually(() => gateway.upstream.received() === 1);
    const evening = await gateway.ledger(({ held }) => held > 0);
    expect(evening.held).toBeGreaterThan(28_000_000);
    const refused = await gateway.chat(large, { "x-goal-id": "late" });
    expect([refused.status, refused.headers.get("x-smart-gateway-cause")]).toEqual([403, "budget_hard_cap_exceeded"]);

    await store.moveTo(midnight + 5_000);
    const morning = await gateway.chat(large, { "x-goal-id": "morning" });
    expect(morning.status).toBe(200);
    await morning.text();
    const today = await gateway.ledger();
    expect(today.spent).toBeGreaterThan(0);
    expect((await accounts())["day/2026-11-22"]).toEqual({ spent: 0, held: evening.held });
    await eventually(async () => (await gauge("spent")) === today.spent / 1e9);
    expect(await gauge("held")).toBe(0);

    finish();
    const answer = await running;
    expect(answer.status).toBe(200);
    await answer.text();
    await eventually(async () => (await accounts())["day/2026-11-22"]?.held === 0);
    const days = await accounts();
    const yesterday = days["day/2026-11-22"]?.spent ?? 0;
    expect(yesterday).toBeGreaterThan(0);
    expect(days["day/2026-11-23"]).toEqual({ spent: today.spent, held: 0 });
    expect(yesterday + today.spent).toBe(gateway.upstream.billedNanoUsd());
    expect([await gauge("spent"), await gauge("held")]).toEqual([today.spent / 1e9, 0]);

    await dashboard.recorded(2);
    await eventually(async () => (await dashboard.rows({ range: "24h" })).length === 3);
    for (const [day, spent] of Object.entries({ "2026-11-23": today.spent, "2026-11-22": yesterday })) {
      const from_ms = Date.parse(day);
      const rows = await dashboard.rows({ from_ms, to_ms: from_ms + 86_400_000 });
      expect([day, rows.reduce((sum, { cost_nano_usd }) => sum + cost_nano_usd, 0)]).toEqual([day, spent]);
    }
  });
}
