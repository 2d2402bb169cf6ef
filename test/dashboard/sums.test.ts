import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { fails } from "#simulator/behaviours.ts";
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
    for (const parts of [summary.by_cause, summary.by_model]) {
      expect(parts.reduce((sum, part) => sum + part.requests, 0)).toBe(requests);
      expect(parts.reduce((sum, part) => sum + part.cost_nano_usd, 0)).toBe(summary.total.cost_nano_usd);
    }
    expect(summary.saved.cost_nano_usd).toBe(summary.total.cost_nano_usd);
    expect(summary.saved.baseline_nano_usd - summary.saved.cost_nano_usd).toBe(summary.saved.saved_nano_usd);
  });
});
