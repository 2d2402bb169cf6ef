import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BacktestEvent, dashboardApi, type LiveEvent } from "#dashboard/api-schema.ts";
import { learnedWeights } from "#pipeline/decide/fixtures.ts";
import { runningMs } from "#platform/testing/running-time.ts";
import { call, eventually, start } from "../harness/gateway.ts";
import { databases, startDashboard, type TestDashboard } from "./fixture.ts";

/** Assembled here so that scanners of repositories do not take it for a key. */
const credential = ["ghp", "gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"].join("_");

/** The events of a feed, as they arrive. */
async function* feed(dashboard: TestDashboard, query = "", headers: Record<string, string> = {}) {
  const aborted = new AbortController();
  const reply = await call(`${dashboard.url}/dashboard/api/decisions/live?${query}`, {
    headers,
    signal: aborted.signal,
  });
  expect(reply.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const bytes of reply.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const lines = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2)));
        if (lines["data"] === undefined) continue;
        const event: LiveEvent = JSON.parse(lines["data"]);
        expect(lines["event"]).toBe(event.kind);
        if (event.kind === "decision") expect(lines["id"]).toBe(String(event.row.seq));
        yield event;
      }
    }
  } finally {
    aborted.abort();
  }
}

async function next(events: AsyncGenerator<LiveEvent>): Promise<LiveEvent> {
  const { value, done } = await events.next();
  if (done) throw new Error("the feed has ended");
  return value;
}

describe.each(databases().map(({ name, open }) => [name, open] as const))("%s", (_, open) => {
  test("a request appears in the feed within a second, and a refusal too", async () => {
    await using dashboard = await startDashboard(await open());
    const events = feed(dashboard);
    expect(await next(events)).toMatchObject({ kind: "hello", resumed: false });
    await (await dashboard.gateway.chat({}, { "x-goal-id": "g1" })).text();
    const answeredMs = runningMs();
    expect(await next(events)).toMatchObject({ kind: "decision", row: { goal: "g1", outcome: "answered" } });
    expect(runningMs() - answeredMs).toBeLessThan(1_000);
    await call(`${dashboard.url}/v1/chat/completions`, { method: "POST", body: "{}" });
    const refusedMs = runningMs();
    expect(await next(events)).toMatchObject({
      kind: "decision",
      row: { status: 401, refused_by: "gateway", cause: null },
    });
    expect(runningMs() - refusedMs).toBeLessThan(1_000);
    await events.return(undefined);
  });

  test("the server filters the feed", async () => {
    await using dashboard = await startDashboard(await open());
    const events = feed(dashboard, "goal=wanted&refused_by=none");
    await next(events);
    for (const goal of ["other", "wanted", "other"]) {
      await (await dashboard.gateway.chat({}, { "x-goal-id": goal })).text();
    }
    await (await dashboard.gateway.chat({}, { "x-goal-id": "wanted" })).text();
    for (const _ of [1, 2]) expect(await next(events)).toMatchObject({ kind: "decision", row: { goal: "wanted" } });
    await events.return(undefined);
  });

  test("an interrupted feed resumes after the last event that was received", async () => {
    await using dashboard = await startDashboard(await open());
    const chat = async (goal: string) => (await dashboard.gateway.chat({}, { "x-goal-id": goal })).text();
    const first = feed(dashboard);
    await next(first);
    await chat("seen");
    const seen = await next(first);
    await first.return(undefined);
    await chat("missed-1");
    await chat("missed-2");
    await dashboard.recorded(3);
    const id = seen.kind === "decision" ? String(seen.row.seq) : "";
    const again = feed(dashboard, "", { "last-event-id": id });
    expect(await next(again)).toMatchObject({ kind: "hello", resumed: true });
    expect(await next(again)).toMatchObject({ kind: "decision", row: { goal: "missed-1" } });
    expect(await next(again)).toMatchObject({ kind: "decision", row: { goal: "missed-2" } });
    await chat("new");
    expect(await next(again)).toMatchObject({ kind: "decision", row: { goal: "new" } });
    await again.return(undefined);
  });

  test("a list is paged by keyset: each record once, also while new ones arrive", async () => {
    await using dashboard = await startDashboard(await open());
    const chat = async (goal: string) => (await dashboard.gateway.chat({}, { "x-goal-id": goal })).text();
    for (const goal of ["a", "b", "c", "d", "e"]) await chat(goal);
    await dashboard.recorded(5);
    const first = await dashboard.get("GET decisions", { query: { limit: 2 } });
    expect(first.rows.map(({ goal }) => goal)).toEqual(["e", "d"]);
    expect(first.total).toMatchObject({ requests: 5 });
    await chat("f");
    await dashboard.recorded(6);
    const query = { limit: 2, before: first.next_before };
    const second = await dashboard.get("GET decisions", { query });
    expect(second.rows.map(({ goal }) => goal)).toEqual(["c", "b"]);
    const third = await dashboard.get("GET decisions", { query: { limit: 2, before: second.next_before } });
    expect(third.rows.map(({ goal }) => goal)).toEqual(["a"]);
    expect(third.next_before).toBeNull();
    const hard = await dashboard.get("GET decisions", { query: { outcome: "refused,failed" } });
    expect(hard.rows).toEqual([]);
  });

  test("one decision has its record, the points of its score, and its savings", async () => {
    await using dashboard = await startDashboard(await open());
    const reply = await dashboard.gateway.chat({ messages: [{ role: "user", content: `why? ${credential}` }] });
    await reply.text();
    await dashboard.recorded(1);
    const id = reply.headers.get("x-smart-gateway-decision-id") ?? "";
    const detail = await dashboard.get("GET decisions/{id}", { at: { id } });
    expect(detail.record).toMatchObject({ decision_id: id, redactions: [{ rule: "github_token", count: 1 }] });
    expect(detail.row).toMatchObject({ decision_id: id, redactions: 1, outcome: "answered" });
    expect(detail.contributions.length).toBeGreaterThan(3);
    expect(detail.stages.map(({ stage }) => stage)).toEqual(["privacy", "score", "rules", "budget", "health"]);
    expect(detail.stages.filter(({ decided }) => decided).length).toBe(1);
    expect(detail.sentence).toStartWith("Went to flash because the caller asked for flash.");
    expect(detail.thresholds).toEqual({ flash_below: expect.any(Number), pro_from: expect.any(Number) });
    expect(detail.saved?.saved_nano_usd).toBe((detail.saved?.baseline_nano_usd ?? 0) - detail.row.cost_nano_usd);
    expect(JSON.stringify(detail)).not.toContain(credential);
    const byRequest = await dashboard.get("GET decisions/{id}", { at: { id: detail.row.request_id } });
    expect(byRequest.row.decision_id).toBe(id);
    expect((await dashboard.call("GET decisions/{id}", { at: { id: "none" } })).status).toBe(404);
  });
});

test("the number of feeds is bounded, and one that ends makes room", async () => {
  await using dashboard = await startDashboard("sqlite");
  const url = `${dashboard.url}/dashboard/api/decisions/live`;
  const aborted = new AbortController();
  const open = await Promise.all(Array.from({ length: 64 }, () => call(url, { signal: aborted.signal })));
  expect(open.every(({ status }) => status === 200)).toBe(true);
  const refused = await call(url);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  aborted.abort();
  await eventually(async () => {
    const again = await call(url);
    await again.body?.cancel();
    return again.status === 200;
  });
});

test("a body that is too large ends its connection: the rest is not read", async () => {
  await using gateway = await start({ env: { DASHBOARD_TOKEN: "token-of-the-dashboard" } });
  for (const path of ["login", "api/route"]) {
    const answer = await call(`${gateway.url}/dashboard/${path}`, {
      method: "POST",
      headers: { authorization: "Bearer token-of-the-dashboard", "content-type": "application/json" },
      body: "x".repeat(3_000_000),
    });
    expect([path, answer.status, answer.headers.get("connection")]).toEqual([path, 413, "close"]);
  }
});

test("an unknown or invalid query parameter is refused by name", async () => {
  await using dashboard = await startDashboard("sqlite");
  const detail = async (query: object, endpoint: "GET decisions" | "GET series" = "GET decisions") => {
    const reply = await dashboard.call(endpoint, { query });
    expect(reply.status).toBe(422);
    return (await reply.json()).detail;
  };
  expect(await detail({ limit: 201 })).toContain("limit");
  expect(await detail({ range: "9d" })).toContain("range");
  expect(await detail({ from_ms: 20, to_ms: 10 })).toContain("from_ms");
  expect(await detail({ from_ms: 0 })).toContain("three years");
  expect(await detail({ before: "x" })).toContain("before");
  expect(await detail({ before: -5 })).toContain("before");
  // With a misspelt name a filter would show everything.
  expect(await detail({ gaol: "g" })).toContain("gaol");
  // With a misspelt value it would show nothing.
  for (const field of [
    "cause",
    "rule",
    "kind",
    "alias",
    "tier",
    "outcome",
    "status",
    "refused_by",
    "cost_state",
    "action",
  ]) {
    expect(await detail({ [field]: "misspelt" })).toStartWith(`${field}: "misspelt" is no`);
  }
  expect(await detail({ outcome: "failed,misspelt" })).toContain("broken_stream");
  const named = { cause: "hard_pro_rule,none", tier: "pro,none", status: "5xx,402", rule: "tool_depth" };
  expect((await dashboard.call("GET decisions", { query: named })).status).toBe(200);
  expect((await dashboard.call("GET decisions", { query: { before: "", limit: "", goal: "" } })).status).toBe(200);
  expect(await detail({ metric: "money" }, "GET series")).toContain("metric");
});

describe("the playground", () => {
  test("a dry run says where a text would go and why, marks credentials in place, and writes nothing", async () => {
    await using dashboard = await startDashboard("sqlite");
    const text = `Rename this variable. Key: ${credential} ok?`;
    const answer = await dashboard.post("POST route", { text });
    expect(answer.decision.cause).toBe(answer.cause);
    expect(answer.tier).toBe("flash");
    expect(answer.findings).toEqual([
      { rule: "github_token", start: text.indexOf(credential), end: text.indexOf(credential) + credential.length },
    ]);
    expect(answer.redactions).toBe(1);
    expect(answer.contributions.length).toBeGreaterThan(3);
    expect(answer.cost?.hold_nano_usd).toBeGreaterThan(0);
    expect(answer.sentence).toStartWith("Would go to flash because ");
    expect(answer.stages.filter(({ decided }) => decided).length).toBe(1);
    expect(answer.would_change.length).toBeGreaterThan(0);
    expect(JSON.stringify(answer)).not.toContain(credential);
    expect(dashboard.gateway.upstream.received()).toBe(0);
    expect(await dashboard.rows()).toEqual([]);
    expect(await dashboard.gateway.ledger()).toEqual({ spent: 0, held: 0 });
  });

  test("a dry run in the gray zone says that the scout would be asked, and not what it would say", async () => {
    await using dashboard = await startDashboard("sqlite", { policy: { routing: { flash_below: 0, pro_from: 100 } } });
    const answer = await dashboard.post("POST route", { text: "Rename this variable.", sensitive: false });
    expect(answer.decision.action).toBe("SCOUT");
    expect(answer.sentence).toStartWith("Would ask the scout first because ");
    expect(answer.would_change).toContainEqual(expect.objectContaining({ input: "score", to: "100", leads_to: "pro" }));
    expect(answer.would_change.map(({ leads_to }) => leads_to)).not.toContain("scout");
  });

  test("it decides like chat for the same request", async () => {
    await using dashboard = await startDashboard("sqlite");
    const asks = [
      "hello",
      "Design a lock-free queue and prove it linearizable",
      "Fix the login: passwords are compared in plain text",
    ];
    for (const content of asks) {
      const body = { model: "smart-router", messages: [{ role: "user", content }] };
      const dry = await dashboard.post("POST route", { body });
      const reply = await dashboard.gateway.chat(body);
      expect([dry.cause, dry.decision.score], content).toEqual([
        reply.headers.get("x-smart-gateway-cause") as never, // the header says the same word
        Number(reply.headers.get("x-smart-gateway-score")),
      ]);
      await reply.text();
    }
  });

  test("with a goal its real spend and cap count", async () => {
    await using dashboard = await startDashboard("sqlite");
    await dashboard.post("POST budgets/{goal}/cap", { hard_usd: "0" }, { at: { goal: "g" } });
    const denied = await dashboard.post("POST route", { text: "hello", goal: "g" });
    expect(denied).toMatchObject({ action: "DENY", cause: "budget_hard_cap_exceeded", tier: null, cost: null });
    expect((await dashboard.post("POST route", { text: "hello" })).action).toBe("ROUTE");
  });

  test("without a goal the spend of the day and of requests without one count", async () => {
    await using dashboard = await startDashboard("sqlite");
    await (await dashboard.gateway.chat()).text();
    const { spent } = await dashboard.gateway.ledger();
    expect(spent).toBeGreaterThan(0);
    const run = () => dashboard.post("POST route", { text: "hello" });
    await eventually(async () => (await run()).caps.day_spent_nano_usd === spent);
    expect((await run()).caps.goal_spent_nano_usd).toBe(spent);
    const body = { hard_usd: "0", account: "day" as const };
    await dashboard.post("POST budgets/{goal}/cap", body, { at: { goal: "today" } });
    expect(await run()).toMatchObject({ action: "DENY", cause: "budget_hard_cap_exceeded" });
  });

  test("a request that chat refuses is refused with the same message", async () => {
    await using dashboard = await startDashboard("sqlite");
    const refused = async (body: object) => {
      const reply = await dashboard.call("POST route", { body });
      expect(reply.status).toBe(422);
      return (await reply.json()).detail;
    };
    expect(await refused({})).toContain("`text` or `body`");
    expect(await refused({ body: { messages: [] } })).toContain("messages");
    expect(await refused({ body: { messages: [{ role: "user", content: "x" }], plugins: [{ id: "web" }] } })).toContain(
      "plugins",
    );
    expect(await refused({ text: "x", alias: "gpt" })).toContain("model");
  });
});

describe("the policy", () => {
  test("each value has its source", async () => {
    await using dashboard = await startDashboard("sqlite", { policy: { routing: { pro_from: 70 } } });
    const policy = await dashboard.get("GET policy");
    const keyOf = (path: string) => policy.keys.find((key) => key.path === path);
    expect(keyOf("routing.pro_from")).toMatchObject({ value: 70, from: "file", line: 1, changed: true });
    expect(keyOf("routing.flash_below")).toMatchObject({ value: 70, from: "file", line: null, changed: true });
    expect(keyOf("budget.per_day_hard_usd")).toMatchObject({ from: "default", line: null, changed: false });
    expect(policy).toMatchObject({ state: "current", problems: [] });
    expect(policy.text).toContain("pro_from");
    for (const { path, about } of policy.keys) expect(about, path).not.toBe("");
  });

  test("the hash of the configuration and the policy hash of decisions are distinct, each the same everywhere", async () => {
    await using dashboard = await startDashboard("sqlite");
    await (await dashboard.gateway.chat()).text();
    await dashboard.recorded(1);
    const { config_hash, policy_hash } = await dashboard.get("GET policy");
    const [row] = await dashboard.rows();
    const { record } = await dashboard.get("GET decisions/{id}", { at: { id: row?.decision_id ?? "" } });
    expect(policy_hash).toBe(record.policy_hash);
    expect(policy_hash).not.toBe(config_hash);
    expect((await dashboard.get("GET session")).config_hash).toBe(config_hash);
    const health = await (await dashboard.gateway.get("/healthz")).json();
    expect(health.config.hash).toBe(config_hash);
    const metrics = await (await dashboard.gateway.get("/metrics")).text();
    expect(metrics).toContain(`smart_gateway_config_info{hash="${config_hash}"} 1`);
  });

  test("an edited policy is validated without being applied", async () => {
    await using dashboard = await startDashboard("sqlite");
    const { config_hash: hash } = await dashboard.get("GET policy");
    const good = await dashboard.post("POST policy/check", { policy: "budget: { per_day_hard_usd: 7 }" });
    expect(good.ok).toBe(true);
    expect(good.changes).toContainEqual({ path: "budget.per_day_hard_usd", from: expect.any(Number), to: 7 });
    const bad = await dashboard.post("POST policy/check", {
      policy: "budget:\n  per_day_hard_us: 7\nrouting: { pro_from: x }",
    });
    expect(bad).toMatchObject({ ok: false, changes: [] });
    expect(bad.problems.map(({ path, line }) => [path, line])).toEqual([
      ["budget.per_day_hard_us", 2],
      ["routing.pro_from", 3],
    ]);
    const chain = await dashboard.post("POST policy/check", { policy: "health: { senior_fallback_chain: [none] }" });
    expect(chain.problems[0]?.message).toContain("none");
    expect((await dashboard.get("GET policy")).config_hash).toBe(hash);
  });

  test.each(["sqlite", "sqlite::memory:"])(
    "a backtest says what an edited policy would have changed (%s)",
    async (database) => {
      await using dashboard = await startDashboard(database);
      const { gateway } = dashboard;
      for (const content of ["hello", "Rename a variable", "Say it in French"]) {
        await (await gateway.chat({ model: "smart-router", messages: [{ role: "user", content }] })).text();
      }
      await dashboard.recorded(3);
      const run = async (policy: string): Promise<BacktestEvent[]> => {
        const reply = await dashboard.call("POST policy/backtest", { body: { policy } });
        expect(reply.status).toBe(200);
        const text = await reply.text();
        return text.split("\n\n").flatMap((block) => {
          const data = /^data: (.*)$/m.exec(block)?.[1];
          return data === undefined ? [] : [dashboardApi["POST policy/backtest"].events.parse(JSON.parse(data))];
        });
      };
      const same = (await run("{}")).at(-1);
      expect(same).toMatchObject({ kind: "result", result: { requests: 3, changed: 0, relabelled: 0 } });
      const events = await run("routing: { flash_below: 0, pro_from: 0 }");
      expect(events[0]).toEqual({ kind: "progress", done: 0, total: 3 });
      const last = events.at(-1);
      if (last?.kind !== "result") throw new Error(JSON.stringify(last));
      expect(last.result).toMatchObject({
        requests: 3,
        changed: 3,
        after: { by_tier: [{ tier: "pro", requests: 3 }] },
      });
      expect(last.result.after.cost_nano_usd).toBeGreaterThan(last.result.before.cost_nano_usd);
      const [bad] = await run("routing: { flash_belo: 0 }");
      expect(bad).toMatchObject({ kind: "problem", problems: [{ path: "routing.flash_belo" }] });
    },
  );

  test("a backtest uses the active learned weights, and reads no other file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "weights-"));
    const weights_file = join(folder, "weights.json");
    // By the learned weights every ask is among the hardest; by the shipped score this one is not.
    writeFileSync(weights_file, JSON.stringify({ ...learnedWeights(0), intercept: 10, width: 1e-6, reach: 0.1 }));
    const routing = { flash_below: 40, pro_from: 50, learned: { weights_file } };
    await using dashboard = await startDashboard("sqlite", { policy: { routing } });
    await (
      await dashboard.gateway.chat({
        model: "smart-router",
        messages: [{ role: "user", content: "Rename a variable" }],
      })
    ).text();
    await dashboard.recorded(1);
    const run = async (policy: object): Promise<string> =>
      (await dashboard.call("POST policy/backtest", { body: { policy: JSON.stringify(policy) } })).text();
    expect(await run({ routing: { ...routing, learned: { weights_file: "" } } })).toContain('"changed":1,');
    expect(await run({ routing })).toContain('"changed":0,"relabelled":0');
    expect(await run({ routing: { learned: { weights_file: "/etc/hostname" } } })).toContain("reads no other");
    rmSync(folder, { recursive: true, force: true });
  });
});
