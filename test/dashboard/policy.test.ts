import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { BacktestEvent } from "#dashboard/endpoints/policy.ts";
import { startDashboard, type TestDashboard } from "./fixture.ts";

/** Assembled here so that scanners of repositories do not take it for a key. */
const credential = ["ghp", "gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"].join("_");
const ask = (content: string) => ({ model: "smart-router", messages: [{ role: "user", content }] });

describe("the playground", () => {
  let dashboard: TestDashboard;
  beforeAll(async () => {
    dashboard = await startDashboard("sqlite");
  });
  afterAll(() => dashboard[Symbol.asyncDispose]());

  test("a dry run says where a text would go and why, marks credentials in place, and writes nothing", async () => {
    const text = `Rename this variable. Key: ${credential} ok?`;
    const answer = await dashboard.post("POST route", { text });
    expect(answer).toMatchObject({ cause: answer.decision.cause, tier: "flash", redactions: 1 });
    const start = text.indexOf(credential);
    expect(answer.findings).toEqual([{ rule: "github_token", start, end: start + credential.length }]);
    expect(answer.contributions.length).toBeGreaterThan(3);
    expect(answer.cost?.hold_nano_usd).toBeGreaterThan(0);
    expect(answer.sentence).toStartWith("Would go to flash because ");
    expect(answer.stages.filter(({ decided }) => decided).length).toBe(1);
    expect(answer.would_change.length).toBeGreaterThan(0);
    expect(JSON.stringify(answer)).not.toContain(credential);
    expect([dashboard.gateway.upstream.received(), await dashboard.rows()]).toEqual([0, []]);
    expect(await dashboard.gateway.ledger()).toEqual({ spent: 0, held: 0 });
  });

  test.each([
    [{}, "text"],
    [{ text: "x", alias: "gpt" }, "model"],
  ])("the request %j, which chat refuses, is refused with the same message", async (body, named) => {
    const reply = await dashboard.call("POST route", { body });
    expect([reply.status, (await reply.json()).detail]).toEqual([422, expect.stringContaining(named)]);
  });

  test.each(["hello", "Design a lock-free queue and prove it linearizable", "Fix the login: passwords are plain text"])(
    "it decides like chat: %s",
    async (content) => {
      const { cause, decision } = await dashboard.post("POST route", { text: content });
      const reply = await dashboard.gateway.chat(ask(content));
      await reply.text();
      expect([cause as string, String(decision.score)]).toEqual([
        reply.headers.get("x-smart-gateway-cause") ?? "",
        reply.headers.get("x-smart-gateway-score") ?? "",
      ]);
    },
  );

  test("the spend of the day and of the goal counts, and so does a cap", async () => {
    await using dashboard = await startDashboard("sqlite");
    await (await dashboard.gateway.chat()).text();
    const { spent } = await dashboard.gateway.ledger();
    expect(spent).toBeGreaterThan(0);
    const run = (goal?: string) =>
      dashboard.post("POST route", { text: "hello", ...(goal === undefined ? {} : { goal }) });
    const denied = { action: "DENY", cause: "budget_hard_cap_exceeded", tier: null, cost: null };
    await dashboard.post("POST budgets/{goal}/cap", { hard_usd: "0" }, { at: { goal: "g" } });
    expect(await run("g")).toMatchObject(denied);
    expect((await run()).action).toBe("ROUTE");
    const hard_usd = (spent / 1e9).toFixed(9);
    await dashboard.post("POST budgets/{goal}/cap", { hard_usd, account: "day" }, { at: { goal: "today" } });
    expect(await run()).toMatchObject(denied);
  });

  test("in the gray zone it says that the scout would be asked, and not what it would say", async () => {
    await using dashboard = await startDashboard("sqlite", { policy: { routing: { flash_below: 0, pro_from: 100 } } });
    const answer = await dashboard.post("POST route", { text: "Rename this variable.", sensitive: false });
    expect(answer.decision.action).toBe("SCOUT");
    expect(answer.sentence).toStartWith("Would ask the scout first because ");
    expect(answer.would_change).toContainEqual(expect.objectContaining({ input: "score", to: "100", leads_to: "pro" }));
    expect(answer.would_change.map(({ leads_to }) => leads_to)).not.toContain("scout");
  });
});

describe("the policy", () => {
  test("each value has its source; the configuration's hash and that of decisions are each the same everywhere", async () => {
    await using dashboard = await startDashboard("sqlite", { policy: { routing: { pro_from: 70 } } });
    const { gateway } = dashboard;
    const policy = await dashboard.get("GET policy");
    const key = (path: string) => policy.keys.find((each) => each.path === path);
    expect(key("routing.pro_from")).toMatchObject({ value: 70, from: "file", line: 1, changed: true });
    expect(key("routing.flash_below")).toMatchObject({ value: 70, from: "file", line: null, changed: true });
    expect(key("budget.per_day_hard_usd")).toMatchObject({ from: "default", line: null, changed: false });
    expect(policy).toMatchObject({ state: "current", problems: [], text: expect.stringContaining("pro_from") });
    for (const { path, about } of policy.keys) expect(about, path).not.toBe("");

    const { config_hash, policy_hash } = policy;
    await (await gateway.chat()).text();
    await dashboard.recorded(1);
    const [row] = await dashboard.rows();
    const { record } = await dashboard.get("GET decisions/{id}", { at: { id: row?.decision_id ?? "" } });
    expect(policy_hash).toBe(record.policy_hash);
    expect(policy_hash).not.toBe(config_hash);
    expect((await dashboard.get("GET session")).config_hash).toBe(config_hash);
    expect((await (await gateway.get("/healthz")).json()).config.hash).toBe(config_hash);
    const metrics = await (await gateway.get("/metrics")).text();
    expect(metrics).toContain(`smart_gateway_config_info{hash="${config_hash}"} 1`);
  });

  test.each(["sqlite", "sqlite::memory:"])(
    "a backtest says what an edited policy would have changed (%s)",
    async (database) => {
      await using dashboard = await startDashboard(database);
      for (const content of ["hello", "Rename a variable", "Say it in French"]) {
        await (await dashboard.gateway.chat(ask(content))).text();
      }
      await dashboard.recorded(3);
      const run = async (policy: string): Promise<BacktestEvent[]> => {
        const reply = await dashboard.call("POST policy/backtest", { body: { policy } });
        expect(reply.status).toBe(200);
        const data = (await reply.text()).matchAll(/^data: (.*)$/gm);
        return [...data].map(([, json = ""]) => JSON.parse(json) as BacktestEvent);
      };
      const same = (await run("{}")).at(-1);
      expect(same).toMatchObject({ kind: "result", result: { requests: 3, changed: 0, relabelled: 0 } });
      const events = await run("routing: { flash_below: 0, pro_from: 0 }");
      expect(events[0]).toEqual({ kind: "progress", done: 0, total: 3 });
      const last = events.at(-1);
      if (last?.kind !== "result") throw new Error(JSON.stringify(last));
      const after = { by_tier: [{ tier: "pro", requests: 3 }] };
      expect(last.result).toMatchObject({ requests: 3, changed: 3, after });
      expect(last.result.after.cost_nano_usd).toBeGreaterThan(last.result.before.cost_nano_usd);
      const [bad] = await run("routing: { flash_belo: 0 }");
      expect(bad).toMatchObject({ kind: "problem", problems: [{ path: "routing.flash_belo" }] });
    },
  );
});
