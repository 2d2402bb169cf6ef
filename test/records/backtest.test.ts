import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Policy } from "#config/policy.ts";
import { backtest } from "#records/backtest/backtest.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import type { RecordStore } from "#records/store/record-store.ts";
import { openRecordStore } from "#records/store/record-store.ts";
import { completes, fails } from "#simulator/behaviours.ts";
import { after } from "#simulator/testing/scripted.ts";
import { start } from "../harness/gateway.ts";

/** Traffic of many kinds through a real gateway, recorded, and then decided again. */
const folder = mkdtempSync(join(tmpdir(), "backtest-"));
const databaseUrl = `sqlite:${join(folder, "gateway.db")}`;
const tight = {
  budget: { per_goal_soft_usd: 0.01, per_goal_hard_usd: 0.08, per_day_soft_usd: 20, per_day_hard_usd: 50 },
};
let store: RecordStore;
let policy: Policy;
let records: readonly DecisionRecord[];

beforeAll(async () => {
  const gateway = await start({
    env: { DATABASE_URL: databaseUrl },
    policy: {
      ...tight,
      routing: { flash_below: 20, pro_from: 60 },
      upstream: { max_attempts: 1 },
      health: { failures_in_a_row: 2 },
    },
  });
  const chat = async (body: object, headers: Record<string, string> = {}) => {
    const reply = await gateway.chat({ model: "smart-router", ...body } as never, headers);
    await reply.text();
  };
  const words = (content: string) => ({ messages: [{ role: "user", content }] });
  const asks = [
    "rename a variable",
    "Prove that the square root of two is irrational, then generalize to all primes, and discuss the proof's assumptions.",
    "Design a distributed consensus protocol with formal verification of its safety under partitions and clock skew.",
  ];
  for (let round = 0; round < 4; round++) {
    for (const ask of asks) {
      await chat(words(ask), { "x-goal-id": `g${round % 2}` });
      await chat({ ...words(ask), metadata: { sensitive: false } });
      await chat({ ...words(ask), stream: true }, { "x-session-id": "s", "x-goal-id": "g" });
    }
    await chat(words("try again"), { "x-same-error-count": String(round), "x-goal-id": "hard" });
    await chat({ ...words("hello"), model: "smart-router-pro" }, { "x-goal-id": "hard" });
    await chat({ ...words("hello"), model: "smart-router-free" });
    await chat({ ...words("hello"), model: "smart-router-free", metadata: { sensitive: false } });
    await chat({ ...words("hello"), max_tokens: 100_000, n: 3 }, { "x-goal-id": "hard" });
  }
  // The senior model is excluded while requests arrive.
  gateway.upstream.next(fails(500), fails(500), fails(500));
  for (let n = 0; n < 5; n++)
    await chat({ ...words("hello again"), model: "smart-router-pro" }, { "x-goal-id": `h${n}` });
  // Concurrent requests: the ledger, not the decision, finds that they do not fit together. The calls end behind the first refusal.
  const refused = Promise.withResolvers<void>();
  gateway.upstream.next(...Array.from({ length: 12 }, () => after(refused.promise, completes())));
  const race = { ...words("all at once"), max_tokens: 40_000 };
  await Promise.all(Array.from({ length: 12 }, () => chat(race, { "x-goal-id": "race" }).then(refused.resolve)));
  policy = gateway.gateway.ports.config().policy;
  await gateway.stop();
  store = await openRecordStore(databaseUrl);
  const all: DecisionRecord[] = [];
  for await (const batch of store.export({})) all.push(...batch);
  records = all;
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const under = (other: Policy) =>
  backtest({
    records: store.export({}),
    policy: other,
    registry: { models: new Map(), byRole: {} },
    configuration: (hash) => store.config(hash),
  });
const withKeys = ({ routing = {}, budget = {} }: { routing?: object; budget?: object }): Policy =>
  Policy.parse({
    ...policy,
    routing: { ...policy.routing, ...routing },
    budget: { ...policy.budget, ...budget },
  });

describe("a backtest", () => {
  test("has refusals by privacy, budget and health to replay, and requests of every tier", () => {
    const causes = new Set(records.map(({ cause }) => cause));
    for (const cause of ["hard_pro_rule", "explicit_pro", "privacy_free_denied", "budget_hard_cap_exceeded"] as const) {
      expect([cause, causes.has(cause)]).toEqual([cause, true]);
    }
    expect(records.some(({ inputs }) => (inputs?.unroutable.length ?? 0) > 0)).toBe(true);
    expect(records.some(({ inputs }) => inputs?.ledger_spend != null)).toBe(true);
    for (const tier of ["flash", "pro", "free"]) expect(records.some((record) => record.tier === tier)).toBe(true);
  });

  test("under the same policy changes nothing: no model, no cause, no cost, no cap", async () => {
    const result = await under(policy);
    expect(result.requests + result.skipped).toBe(records.reduce((sum, { repeated }) => sum + repeated, 0));
    expect(result.skipped).toBe(0);
    expect(result.changes).toEqual([]);
    expect(result).toMatchObject({ changed: 0, relabelled: 0, estimated: 0 });
    expect(result.after).toEqual(result.before);
    for (const day of result.days) {
      expect(day.after_nano_usd).toBe(day.before_nano_usd);
      expect(day.cap_hits_after).toBe(day.cap_hits_before);
    }
    expect(result.before.cost_nano_usd).toBe(records.reduce((sum, { cost_nano_usd }) => sum + cost_nano_usd, 0));
    expect(result.before.refused).toBe(records.filter(({ outcome }) => outcome === "refused").length);
  });

  test("with all thresholds at 0, requests that the score decided go to pro and cost more", async () => {
    const result = await under(
      withKeys({
        routing: { flash_below: 0, pro_from: 0 },
        budget: { per_goal_soft_usd: 100, per_goal_hard_usd: 100 },
      }),
    );
    expect(result.changed).toBeGreaterThan(5);
    expect(result.after.cost_nano_usd).toBeGreaterThan(result.before.cost_nano_usd);
    const [most] = result.changes.filter(({ to_cause }) => to_cause === "score_pro");
    expect(most).toMatchObject({ from_model: "vendor_v4_flash", to_model: "vendor_v4_pro" });
    expect(result.changes.reduce((sum, { requests }) => sum + requests, 0)).toBe(result.changed + result.relabelled);
    expect(result.changes.reduce((sum, { delta_nano_usd }) => sum + delta_nano_usd, 0)).toBe(
      result.after.cost_nano_usd - result.before.cost_nano_usd,
    );
  });

  test("tells the two errors apart, where outcomes of flash are known", async () => {
    async function* reported() {
      const scored = records.filter(({ cause, tier }) => cause === "score_flash" && tier === "flash");
      yield scored.slice(0, 5).map((record, at) => ({
        ...record,
        reported: { outcome: at < 2 ? ("failed" as const) : ("solved" as const), score: null },
      }));
    }
    const budget = { per_goal_soft_usd: 100, per_goal_hard_usd: 100 };
    const errorsUnder = async (routing: object) => {
      const options = {
        registry: { models: new Map(), byRole: {} },
        configuration: (hash: string) => store.config(hash),
      };
      const result = await backtest({ ...options, records: reported(), policy: withKeys({ routing, budget }) });
      return [result.hard, result.hard_to_flash, result.easy, result.easy_to_pro];
    };
    expect(await errorsUnder({})).toEqual([2, 2, 3, 0]);
    expect(await errorsUnder({ flash_below: 0, pro_from: 0 })).toEqual([2, 0, 3, 3]);
  });
});
