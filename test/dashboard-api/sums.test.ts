import { describe, expect, test } from "bun:test";
import { completes, fails } from "#simulator/behaviours.ts";
import { authorization, call, eventually } from "../harness/gateway.ts";
import { databases, startDashboard, type TestDashboard } from "./fixture.ts";

/** Requests of every kind: answered by three tiers, refused by the gateway before and after a decision, failed upstream. */
async function traffic({ gateway }: TestDashboard): Promise<number> {
  const read = async (reply: Promise<Response>) => (await reply).text();
  const chat = (content: string, body: object = {}, headers: Record<string, string> = {}) =>
    read(gateway.chat({ messages: [{ role: "user", content }], ...body } as never, headers)); // a body is JSON
  await chat("hello");
  await chat("hello again", {}, { "x-session-id": "s1", "x-goal-id": "refactor" });
  await chat("Prove it", { model: "smart-router-pro" }, { "x-session-id": "s1", "x-goal-id": "refactor" });
  await chat("What is a monad?", { model: "smart-router", stream: true }, { "x-goal-id": "learn" });
  await chat("Sum it up", { model: "smart-router-free", metadata: { sensitive: false } });
  await chat("private", { model: "smart-router-free" });
  await read(call(`${gateway.url}/v1/chat/completions`, { method: "POST", body: "{}" }));
  const json = { ...authorization, "content-type": "application/json" };
  await read(call(`${gateway.url}/v1/chat/completions`, { method: "POST", headers: json, body: '{"model":"x"}' }));
  gateway.upstream.follow(() => fails(400));
  await chat("this fails");
  return 9;
}

describe.each(databases().map(({ name, open }) => [name, open] as const))("%s", (_, open) => {
  test("every number of the summary is the sum of the list that it links to", async () => {
    await using dashboard = await startDashboard(await open());
    const requests = await traffic(dashboard);
    await dashboard.recorded(requests);
    await dashboard.gateway.ledger();
    const summary = await dashboard.get("GET summary", { query: { range: "24h" } });
    expect(summary.total.requests).toBe(requests);
    const counted = [
      summary.total,
      summary.answered,
      summary.refused,
      summary.failed,
      ...summary.refused_by,
      ...summary.by_tier,
      ...summary.by_cause,
      ...summary.by_model,
      ...summary.by_goal,
      summary.unknown_cost,
    ];
    expect(counted.filter((one) => one.requests > 0).length).toBeGreaterThan(15);
    for (const { requests, cost_nano_usd, filter } of counted) {
      const rows = await dashboard.rows(filter);
      const sum = rows.reduce((total, row) => total + row.repeated, 0);
      const cost = rows.reduce((total, row) => total + row.cost_nano_usd, 0);
      expect({ filter, requests: sum, cost }).toEqual({ filter, requests, cost: cost_nano_usd });
    }
    for (const parts of [summary.by_tier, summary.by_cause, summary.by_model]) {
      expect(parts.reduce((sum, part) => sum + part.requests, 0)).toBe(requests);
      expect(parts.reduce((sum, part) => sum + part.cost_nano_usd, 0)).toBe(summary.total.cost_nano_usd);
    }
    expect(summary.saved.baseline_nano_usd - summary.saved.cost_nano_usd).toBe(summary.saved.saved_nano_usd);
  });

  test("each session's numbers are the sums of the lists that they link to, refusals included", async () => {
    await using dashboard = await startDashboard(await open());
    const requests = await traffic(dashboard);
    const { gateway } = dashboard;
    gateway.upstream.follow(() => completes());
    const more = [
      { headers: { "x-session-id": "s2", "x-goal-id": "refactor" }, body: {} },
      { headers: { "x-session-id": "s2", "x-goal-id": "learn" }, body: { model: "smart-router-free" } },
      { headers: { "x-session-id": "s2", "x-goal-id": "learn" }, body: { max_tokens: -1 } },
    ];
    for (const { headers, body } of more) await (await gateway.chat(body, headers)).text();
    await dashboard.recorded(requests + more.length);
    const { range, sessions, more: others } = await dashboard.get("GET sessions", { query: { range: "24h" } });
    expect(others).toBe(false);
    expect(sessions.map(({ session }) => session).toSorted()).toEqual(["s1", "s2"]);
    expect(sessions.some(({ refused }) => refused.requests > 0)).toBe(true);
    for (const { session, requests: counted, cost_nano_usd, filter, refused, last_ms } of sessions) {
      const rows = await dashboard.rows(filter);
      expect({ session, counted, cost_nano_usd, last_ms }).toEqual({
        session,
        counted: rows.reduce((total, row) => total + row.repeated, 0),
        cost_nano_usd: rows.reduce((total, row) => total + row.cost_nano_usd, 0),
        last_ms: Math.max(...rows.map(({ recorded_ms }) => recorded_ms)),
      });
      expect(filter).toEqual({ session, from_ms: range.from_ms, to_ms: range.to_ms });
      const refusals = await dashboard.rows(refused.filter);
      expect(refused.requests).toBe(refusals.reduce((total, row) => total + row.repeated, 0));
    }
  });

  test("the summary, the list, the series, the budgets and the ledger have the same money", async () => {
    await using dashboard = await startDashboard(await open());
    const requests = await traffic(dashboard);
    await dashboard.recorded(requests);
    const totals = await dashboard.gateway.ledger();
    const summary = await dashboard.get("GET summary", { query: { range: "today" } });
    expect(summary.total.cost_nano_usd).toBe(totals.spent);
    expect(summary.ledger).toEqual({
      day: summary.utc_day,
      spent_nano_usd: totals.spent,
      records_nano_usd: totals.spent,
      unexplained_nano_usd: 0,
    });
    expect(summary.caps.day).toMatchObject({ name: summary.utc_day, spent_nano_usd: totals.spent, held_nano_usd: 0 });
    const series = await dashboard.get("GET series", {
      query: { metric: "cost_nano_usd", by: "tier", range: "today" },
    });
    const total = series.groups.reduce((sum, group) => sum + (group.total ?? 0), 0);
    expect(total).toBe(totals.spent);
    const budgets = await dashboard.get("GET budgets", { query: { range: "today" } });
    expect(budgets.days[0]).toMatchObject({ spent_nano_usd: totals.spent, requests: { cost_nano_usd: totals.spent } });
    const goals = budgets.goals.reduce((sum, goal) => sum + goal.spent_nano_usd, 0);
    expect(goals).toBe(totals.spent);
    for (const goal of budgets.goals) expect(goal.requests?.cost_nano_usd, goal.name).toBe(goal.spent_nano_usd);
  });
});

// In PostgreSQL the day is that of the database's own clock, which a test cannot set.
test("the sums are equal on both sides of UTC midnight", async () => {
  const midnight = Date.UTC(2026, 10, 23);
  let nowMs = midnight - 20_000;
  const clock = { now: () => nowMs, monotonic: () => performance.now() };
  await using dashboard = await startDashboard("sqlite", { overrides: { clock } });
  const { gateway } = dashboard;
  const sendNth = async (n: number, goal: string) => {
    nowMs += 1_000;
    const body = { messages: [{ role: "user", content: "x".repeat(n * 100) }] };
    await (await gateway.chat(body as never, { "x-goal-id": goal })).text(); // a body is JSON
  };
  for (const n of [1, 2, 3]) await sendNth(n, "evening");
  await dashboard.recorded(3);
  const before = await gateway.ledger();
  nowMs = midnight + 5_000;
  for (const n of [4, 5]) await sendNth(n, "morning");
  const sumOf = (rows: readonly { cost_nano_usd: number }[]) => rows.reduce((sum, row) => sum + row.cost_nano_usd, 0);
  await eventually(async () => (await dashboard.rows({ range: "24h" })).length === 5);
  const after = await gateway.ledger();

  const today = await dashboard.get("GET summary", { query: { range: "today" } });
  expect(today.utc_day).toBe("2026-11-23");
  expect(today.total).toMatchObject({ requests: 2, cost_nano_usd: after.spent });
  expect(today.ledger).toMatchObject({ spent_nano_usd: after.spent, records_nano_usd: after.spent });
  expect(sumOf(await dashboard.rows(today.total.filter))).toBe(after.spent);

  const { days } = await dashboard.get("GET budgets", { query: { range: "24h" } });
  expect(days.map(({ name, spent_nano_usd }) => [name, spent_nano_usd])).toEqual([
    ["2026-11-23", after.spent],
    ["2026-11-22", before.spent],
  ]);
  for (const day of days) {
    expect(day.requests?.cost_nano_usd, day.name).toBe(day.spent_nano_usd);
    expect(sumOf(await dashboard.rows(day.requests?.filter)), day.name).toBe(day.spent_nano_usd);
  }
  const both = await dashboard.get("GET summary", { query: { range: "6h" } });
  expect(both.total).toMatchObject({ requests: 5, cost_nano_usd: before.spent + after.spent });
  expect(both.by_goal.map(({ goal, requests }) => [goal, requests]).toSorted()).toEqual([
    ["evening", 3],
    ["morning", 2],
  ]);
});
