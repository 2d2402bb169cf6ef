import { describe, expect, test } from "bun:test";
import type { AnswerOf } from "#dashboard/api.ts";
import { dollarText } from "#domain/money/money.ts";
import { fails } from "#simulator/behaviours.ts";
import { disconnects } from "#simulator/testing/scripted.ts";
import { eventually } from "../harness/gateway.ts";
import { databases, startDashboard, type TestDashboard } from "./fixture.ts";

const flash = "vendor_v4_flash";

/** The holds, once no call is running. */
async function unresolved(dashboard: TestDashboard): Promise<AnswerOf<"GET holds">["holds"]> {
  let holds: AnswerOf<"GET holds">["holds"] = [];
  await eventually(async () => {
    ({ holds } = await dashboard.get("GET holds"));
    return holds.length > 0 && holds.every(({ state }) => state === "unresolved");
  });
  return holds;
}

describe.each(databases().map(({ name, open }) => [name, open] as const))("%s", (_, open) => {
  test("a goal's own cap is set, applied at once, cleared and written to the audit log; an invalid one is refused", async () => {
    await using dashboard = await startDashboard(await open());
    const { gateway } = dashboard;
    const chat = () => gateway.chat({}, { "x-session-id": "s/1", "x-goal-id": "g" });
    expect((await chat()).status).toBe(200);
    const { goals } = await dashboard.get("GET budgets");
    const [goal] = goals;
    expect(goal).toMatchObject({ account: "goal/s%2F1//g", cap_from: "policy" });
    const at = { goal: goal?.name ?? "" };
    const set = await dashboard.post("POST budgets/{goal}/cap", { hard_usd: "0", why: "enough" }, { at });
    expect(set).toEqual({ account: "goal/s%2F1//g", hard_nano_usd: 0, before_nano_usd: null });
    await eventually(async () => (await chat()).status === 403);
    const { detail } = await (await chat()).json();
    expect([detail.includes("cap 0 USD (set by the operator"), detail.includes("per_goal_hard_usd")]).toEqual([
      true,
      false,
    ]);
    const [capped] = (await dashboard.get("GET budgets")).goals;
    expect(capped).toMatchObject({ hard_nano_usd: 0, cap_from: "operator", left_nano_usd: 0 });
    await dashboard.post("POST budgets/{goal}/cap", { hard_usd: null }, { at });
    await eventually(async () => (await chat()).status === 200);
    const { actions } = await dashboard.get("GET actions");
    expect(actions.map(({ action, target, detail, operator }) => [action, target, detail, operator])).toEqual([
      ["cap_set", "goal/s%2F1//g", "hard cap 0 USD → of the policy", "loopback (loopback)"],
      ["cap_set", "goal/s%2F1//g", "hard cap of the policy → 0 USD: enough", "loopback (loopback)"],
    ]);
    expect(actions[0]?.at_ms).toBeGreaterThan(Date.now() - 60_000);

    const invalid = async (body: object, goal = "g") =>
      (await dashboard.call("POST budgets/{goal}/cap", { body, at: { goal } })).json();
    expect((await invalid({ hard_usd: "-1" })).detail).toContain("hard_usd");
    expect((await invalid({ hard_usd: 7 })).detail).toContain("hard_usd");
    expect((await invalid({})).detail).toContain("hard_usd");
    expect((await invalid({ hard_usd: "1", other: 1 })).detail).toContain("other");
    expect((await invalid({ hard_usd: "1", account: "day" }, "2026-02-30")).detail).toContain("YYYY-MM-DD");
  });

  test("a goal whose name is cut in the records leads to its decisions and gets its own cap", async () => {
    await using dashboard = await startDashboard(await open());
    const name = "g".repeat(150);
    const chat = () => dashboard.gateway.chat({}, { "x-session-id": "s", "x-goal-id": name });
    expect((await chat()).status).toBe(200);
    await dashboard.recorded(1);
    const [goal] = (await dashboard.get("GET budgets")).goals;
    expect(goal?.account).toMatch(/^goal\/s\/g+$/);
    expect((await dashboard.get("GET decisions", { query: { goal: goal?.name ?? "" } })).rows.length).toBe(1);
    const at = { goal: goal?.name ?? "" };
    await dashboard.post("POST budgets/{goal}/cap", { hard_usd: "0" }, { at });
    await eventually(async () => (await chat()).status === 403);
  });

  test("the day gets its own cap, and a summary says that it is nearly reached", async () => {
    await using dashboard = await startDashboard(await open());
    expect((await dashboard.gateway.chat()).status).toBe(200);
    const { spent } = await dashboard.gateway.ledger();
    const usd = (spent / 0.9 / 1e9).toFixed(9);
    const body = { hard_usd: usd, account: "day" as const };
    await dashboard.post("POST budgets/{goal}/cap", body, { at: { goal: "today" } });
    const { needs_you, caps } = await dashboard.get("GET summary");
    expect(caps.day).toMatchObject({ cap_from: "operator" });
    expect(caps.day.used_share).toBeGreaterThan(0.89);
    expect(needs_you.map(({ kind, target }) => [kind, target])).toContainEqual(["cap_near", caps.day.account]);
  });

  test("a hold of unknown outcome is shown with its end, and settled or released by hand; an unknown one gets 404", async () => {
    await using dashboard = await startDashboard(await open(), { policy: { upstream: { max_attempts: 1 } } });
    const { gateway } = dashboard;
    gateway.upstream.follow(() => disconnects("rst", { bills: 1 }));
    const reply = await gateway.chat({ max_tokens: 100 }, { "x-goal-id": "g" });
    expect(reply.status).toBeGreaterThanOrEqual(500);
    const holds = await unresolved(dashboard);
    const { totals } = await dashboard.get("GET holds");
    const [hold] = holds;
    expect(holds.length).toBeGreaterThanOrEqual(1);
    expect(hold).toMatchObject({
      state: "unresolved",
      goal: "g",
      may_close: true,
      decision_id: reply.headers.get("x-smart-gateway-decision-id"),
    });
    expect(hold?.until_ms).toBeGreaterThan(Date.now());
    expect(totals).toEqual([
      {
        state: "unresolved",
        count: holds.length,
        held_nano_usd: holds.reduce((sum, one) => sum + one.held_nano_usd, 0),
      },
    ]);
    const budgets = await dashboard.get("GET budgets");
    expect(budgets.goals[0]?.held_by.unresolved).toBe(totals[0]?.held_nano_usd ?? 0);
    expect(budgets.goals[0]?.charged_at_ms).toBe(Math.max(...holds.map(({ until_ms }) => until_ms)));
    const { needs_you } = await dashboard.get("GET summary");
    expect(needs_you).toContainEqual(
      expect.objectContaining({
        kind: "unresolved_hold",
        title: expect.stringContaining(` cost: ${dollarText(totals[0]?.held_nano_usd ?? 0)} is held.`),
        amount_nano_usd: totals[0]?.held_nano_usd,
      }),
    );
    for (const { id, held_nano_usd } of holds) {
      const body = { usd: "0.000001", why: "seen on the invoice" };
      const settled = await dashboard.post("POST holds/{id}/settle", body, { at: { id } });
      expect(settled).toEqual({ id, result: "settled", held_nano_usd, charged_nano_usd: 1_000, detail: null });
    }
    expect((await dashboard.get("GET holds")).holds).toEqual([]);
    const { spent } = await gateway.ledger();
    expect(spent).toBe(1_000 * holds.length);
    const { actions } = await dashboard.get("GET actions");
    expect(actions[0]).toMatchObject({ action: "hold_settled", target: holds.at(-1)?.id });
    expect(actions[0]?.detail).toContain("seen on the invoice");

    await gateway.chat({ max_tokens: 100 });
    for (const { id } of await unresolved(dashboard)) {
      const released = await dashboard.post("POST holds/{id}/release", { why: "never billed" }, { at: { id } });
      expect(released).toMatchObject({ result: "released", charged_nano_usd: 0 });
    }
    expect(await gateway.ledger()).toEqual({ spent, held: 0 });
    const none = await dashboard.call("POST holds/{id}/release", { body: { why: "x" }, at: { id: "none.1" } });
    expect(none.status).toBe(404);
    const silent = await dashboard.call("POST holds/{id}/release", { at: { id: "none.1" } });
    expect([silent.status, (await silent.json()).detail]).toEqual([422, expect.stringContaining("why")]);
  });

  test("a model is disabled with a reason, enabled and reset; each is in the audit log and in its history", async () => {
    await using dashboard = await startDashboard(await open());
    const modelOf = async (key: string) => {
      const { models } = await dashboard.get("GET models");
      return models.find((model) => model.key === key);
    };
    const before = await modelOf(flash);
    expect(before).toMatchObject({ routable: true, used: true, tier: "flash", override: null, history: [] });
    const disabled = await dashboard.post("POST models/{key}/disable", undefined, { at: { key: flash } });
    expect(disabled).toMatchObject({ model: flash, action: "disable", by: "loopback@dashboard" });
    expect(await modelOf(flash)).toMatchObject({
      state: "DISABLED",
      routable: false,
      override: { disabled: true, by: "loopback@dashboard" },
      history: [{ state: "DISABLED" }],
    });
    const { needs_you } = await dashboard.get("GET summary");
    expect(needs_you).toContainEqual(
      expect.objectContaining({ kind: "model_out", target: flash, command: `smart-gateway models enable ${flash}` }),
    );
    const reply = await dashboard.gateway.chat();
    expect(reply.headers.get("x-smart-gateway-model")).not.toBe(flash);
    await dashboard.post("POST models/{key}/enable", undefined, { at: { key: flash } });
    expect(await modelOf(flash)).toMatchObject({ routable: true, override: { disabled: false } });
    await dashboard.post("POST models/{key}/reset", undefined, { at: { key: flash } });
    const { actions } = await dashboard.get("GET actions");
    expect(actions.map(({ action, target }) => [action, target])).toEqual([
      ["model_reset", flash],
      ["model_enabled", flash],
      ["model_disabled", flash],
    ]);
    expect((await dashboard.call("POST models/{key}/disable", { at: { key: "none" } })).status).toBe(404);
  });
});

test("calls are counted as calls: what a retry or a fail-over hid from callers is shown", async () => {
  await using dashboard = await startDashboard("sqlite");
  const { upstream } = dashboard.gateway;
  upstream.next(fails(503));
  await (await dashboard.gateway.chat()).text();
  upstream.next(fails(503), fails(503));
  await (await dashboard.gateway.chat()).text();
  await dashboard.recorded(2);
  const { failed, calls } = await dashboard.get("GET summary");
  expect(failed.requests).toBe(0);
  expect(calls).toEqual({ count: 5, failed: 3, repeated: 3 });
  const { models } = await dashboard.get("GET models");
  const ofModel = { count: 4, failed: 3, retries: 2, fail_overs: 1 };
  const model = models.find(({ key }) => key === flash);
  expect(model).toMatchObject({ calls: ofModel, price_source: "shipped", first_token_ms: { p50: expect.any(Number) } });
  expect((await dashboard.rows(model?.served.filter)).length).toBe(model?.served.requests ?? 0);
  const { groups } = await dashboard.get("GET series", { query: { metric: "failed_share", by: "model" } });
  const shares = groups.map(({ name, values }) => [name, values.filter((value) => value !== null)]);
  expect(Object.fromEntries(shares)).toMatchObject({ [flash]: [3 / 4] });
  // It is in service, and fails all the same.
  for (let recorded = 3; recorded <= 5; recorded++) {
    // A model that is DEGRADED passes some requests on.
    await dashboard.post("POST models/{key}/reset", undefined, { at: { key: flash } });
    upstream.next(fails(503));
    await (await dashboard.gateway.chat()).text();
    await dashboard.recorded(recorded);
  }
  const { needs_you } = await dashboard.get("GET summary");
  expect(needs_you).toContainEqual(expect.objectContaining({ kind: "model_failing", target: flash, view: "models" }));
});
