import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { RoutingDecision } from "#domain/routing.ts";
import { fails } from "#simulator/behaviours.ts";
import { authorization, call, start, type TestGateway } from "../../harness/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await start();
});
afterAll(() => gateway.stop());

const elevenFields = [
  "action",
  "cause",
  "confidence",
  "evidence",
  "hard_rule",
  "model",
  "policy_version",
  "purpose",
  "score",
  "sensitive_block_applied",
  "task_id",
];

describe("the answer", () => {
  test("has exactly the eleven fields, for a task with the two required ones", async () => {
    const decision = await gateway.decide({ task_id: "my-task", instruction: "Say hello." });
    expect(Object.keys(decision).toSorted()).toEqual(elevenFields);
    expect(RoutingDecision.parse(decision)).toMatchObject({
      task_id: "my-task",
      action: "ROUTE",
      model: "vendor_v4_flash",
      purpose: "EXECUTE",
      cause: "score_flash",
      hard_rule: false,
      sensitive_block_applied: false,
      policy_version: "1",
    });
    for (const entry of decision.evidence) expect(entry).toMatch(/^[a-z0-9_.]+=/);
  });

  test("calls no model and writes nothing", async () => {
    const calls = gateway.upstream.received();
    const records = gateway.log.filter(({ event }) => event === "request_finished").length;
    await gateway.decide({ goal_id: "goal-of-a-dry-run" });
    expect(gateway.upstream.received()).toBe(calls);
    expect(gateway.log.filter(({ event }) => event === "request_finished").length).toBe(records);
    expect(await gateway.ledger()).toEqual({ spent: 0, held: 0 });
  });
});

describe("routes", () => {
  test("the dry run assumes a spend of 0; a tiny hard cap denies", async () => {
    await using poor = await start({ policy: { budget: { per_goal_hard_usd: 0.0000001 } } });
    expect(await poor.decide({})).toMatchObject({ action: "DENY", cause: "budget_hard_cap_exceeded", model: null });
    // Room for one request at a time: a live request that was paid for does not affect a dry run.
    await using modest = await start({ policy: { budget: { per_goal_hard_usd: 0.0095 } } });
    const before = await modest.decide({});
    await (await modest.chat({ max_tokens: 30_000 })).text();
    expect((await modest.ledger()).spent).toBeGreaterThan(0);
    expect(await modest.decide({})).toEqual(before);
  });

  test("the dry run uses the live health", async () => {
    await using sick = await start({ policy: { health: { failures_in_a_row: 1 } } });
    sick.upstream.next(fails(500));
    await (await sick.chat()).text();
    expect((await sick.health())["vendor_v4_flash"]).toBe("UNHEALTHY");
    const decision = await sick.decide({ explicit_route: "FLASH" });
    expect(decision).toMatchObject({ action: "ROUTE", cause: "explicit_flash" });
    expect(decision.model).not.toBe("vendor_v4_flash");
  });
});

test("a body that is not JSON gets 422", async () => {
  const headers = { ...authorization, "content-type": "application/json" };
  const response = await call(`${gateway.url}/v1/route/decision`, { method: "POST", headers, body: "{" });
  expect([response.status, Object.keys(await response.json())]).toEqual([422, ["detail"]]);
});
