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

const post = (body: string, headers: Record<string, string> = {}) =>
  call(`${gateway.url}/v1/route/decision`, {
    method: "POST",
    headers: { ...authorization, "content-type": "application/json", ...headers },
    body,
  });

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
  test("eight attempts stop for a human", async () => {
    expect((await gateway.decide({}, { attempts: 7 })).action).not.toBe("STOP_FOR_HUMAN");
    expect(await gateway.decide({}, { attempts: 8 })).toMatchObject({
      action: "STOP_FOR_HUMAN",
      cause: "attempts_exhausted",
      model: null,
      purpose: "NONE",
    });
  });

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

describe("status codes", () => {
  test("401 without a token", async () => {
    expect((await post("{}", { authorization: "" })).status).toBe(401);
  });

  const wrong: [name: string, body: string][] = [
    ["no JSON", "{"],
    ["an empty body", ""],
    ["an array", "[]"],
    ["null", "null"],
    ["no task", "{}"],
    ["task null", '{"task":null}'],
    ...(
      [
        ["no task_id", { instruction: "x" }],
        ["no instruction", { task_id: "t" }],
        ["an empty task_id", { task_id: "", instruction: "x" }],
        ["an unknown kind", { kind: "COOKING" }],
        ["a kind in small letters", { kind: "coding" }],
        ["an unknown route", { explicit_route: "BEST" }],
        ["an unknown reasoning", { reasoning: "LOW" }],
        ["sensitive as text", { sensitive: "false" }],
        ["a risk that is none", { risk_level: "EXTREME" }],
        ["a dimension above 1", { ambiguity: 1.01 }],
        ["a dimension below 0", { reasoning_requirement: -0.1 }],
        ["a dimension as text", { dependency_depth: "0.5" }],
        ["a tool depth that is not whole", { estimated_tool_depth: 1.5 }],
        ["a negative tool depth", { estimated_tool_depth: -1 }],
        ["metadata that is no object", { metadata: "x" }],
      ] as [string, object][]
    ).map(([name, task]): [string, string] => [
      name,
      JSON.stringify({ task: { ...(name.includes("no ") ? {} : { task_id: "t", instruction: "x" }), ...task } }),
    ]),
    ...(
      [
        ["negative attempts", { attempts: -1 }],
        ["attempts that are not whole", { attempts: 0.5 }],
        ["an unknown failure class", { failure_class: "TOTAL" }],
        ["an error signature that is no string", { error_signature: 7 }],
        ["runtime that is no object", 7],
      ] as [string, unknown][]
    ).map(([name, runtime]): [string, string] => [
      name,
      JSON.stringify({ task: { task_id: "t", instruction: "x" }, runtime }),
    ]),
  ];
  for (const [name, body] of wrong)
    test(`422: ${name}`, async () => {
      const response = await post(body);
      expect([response.status, Object.keys(await response.json())]).toEqual([422, ["detail"]]);
    });

  test("200: unknown keys are ignored", async () => {
    const body = { task: { task_id: "t", instruction: "x", colour: "red" }, runtime: { mood: "good" }, more: 1 };
    expect((await post(JSON.stringify(body))).status).toBe(200);
  });

  test("200: runtime null counts as absent, and an empty instruction is valid", async () => {
    expect((await post(JSON.stringify({ task: { task_id: "t", instruction: "" } }))).status).toBe(200);
    expect((await post(JSON.stringify({ task: { task_id: "t", instruction: "x" }, runtime: null }))).status).toBe(200);
  });
});
