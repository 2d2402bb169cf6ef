import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { completes, fails } from "#simulator/behaviours.ts";
import { authorization, call } from "../harness/gateway.ts";
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
  let dashboard: TestDashboard;
  let requests = 0;
  beforeAll(async () => {
    dashboard = await startDashboard(await open());
    requests = await traffic(dashboard);
    await dashboard.recorded(requests);
    await dashboard.gateway.ledger();
  });
  afterAll(() => dashboard[Symbol.asyncDispose]());

  test("every number of the summary is the sum of the list that it links to", async () => {
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
});
