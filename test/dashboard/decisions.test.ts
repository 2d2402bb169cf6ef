import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { LiveEvent } from "#dashboard/endpoints/decisions.ts";
import { runningMs } from "#platform/testing/running-time.ts";
import { call, eventually, start } from "../harness/gateway.ts";
import { databases, startDashboard, type TestDashboard } from "./fixture.ts";

/** Assembled here so that scanners of repositories do not take it for a key. */
const credential = ["ghp", "gNzxD8lbr7mKXUgHWiZ5rlPw8lAfFX4Orh3o"].join("_");

/** The events of a feed, as they arrive. */
async function* feed(dashboard: TestDashboard, query = "", headers: Record<string, string> = {}) {
  const aborted = new AbortController();
  const url = `${dashboard.url}/dashboard/api/decisions/live?${query}`;
  const reply = await call(url, { headers, signal: aborted.signal });
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
  let dashboard: TestDashboard;
  beforeAll(async () => {
    dashboard = await startDashboard(await open());
  });
  afterAll(() => dashboard[Symbol.asyncDispose]());
  let sent = 0;
  const chat = async (goal: string) => {
    sent += 1;
    const reply = await dashboard.gateway.chat({}, { "x-goal-id": goal });
    await reply.text();
    return reply;
  };
  const decision = (goal: string) => ({ kind: "decision", row: { goal } });

  test("a request appears in the feed within a second, and a refusal too", async () => {
    const events = feed(dashboard);
    expect(await next(events)).toMatchObject({ kind: "hello", resumed: false });
    await chat("g1");
    const answeredMs = runningMs();
    expect(await next(events)).toMatchObject({ kind: "decision", row: { goal: "g1", outcome: "answered" } });
    expect(runningMs() - answeredMs).toBeLessThan(1_000);
    await call(`${dashboard.url}/v1/chat/completions`, { method: "POST", body: "{}" });
    sent += 1;
    const refusedMs = runningMs();
    const refusal = { status: 401, refused_by: "gateway", cause: null };
    expect(await next(events)).toMatchObject({ kind: "decision", row: refusal });
    expect(runningMs() - refusedMs).toBeLessThan(1_000);
    await events.return(undefined);
  });

  test("the server filters the feed", async () => {
    const events = feed(dashboard, "goal=wanted&refused_by=none");
    await next(events);
    for (const goal of ["other", "wanted", "other", "wanted"]) await chat(goal);
    for (const _ of [1, 2]) expect(await next(events)).toMatchObject(decision("wanted"));
    await events.return(undefined);
  });

  test("an interrupted feed resumes after the last event that was received", async () => {
    const first = feed(dashboard);
    await next(first);
    await chat("seen");
    const seen = await next(first);
    await first.return(undefined);
    await chat("missed-1");
    await chat("missed-2");
    await dashboard.recorded(sent);
    const id = seen.kind === "decision" ? String(seen.row.seq) : "";
    const again = feed(dashboard, "", { "last-event-id": id });
    expect(await next(again)).toMatchObject({ kind: "hello", resumed: true });
    for (const goal of ["missed-1", "missed-2"]) expect(await next(again)).toMatchObject(decision(goal));
    await chat("new");
    expect(await next(again)).toMatchObject(decision("new"));
    await again.return(undefined);
  });

  test("a list is paged by keyset: each record once, also while new ones arrive", async () => {
    const list = async (query: object = {}) => {
      const page = await dashboard.get("GET decisions", { query: { limit: 2, ...query } });
      return { ...page, goals: page.rows.map(({ goal }) => goal) };
    };
    for (const goal of ["a", "b", "c", "d", "e"]) await chat(goal);
    await dashboard.recorded(sent);
    const first = await list();
    expect([first.goals, first.total?.requests]).toEqual([["e", "d"], sent]);
    await chat("f");
    await dashboard.recorded(sent);
    const second = await list({ before: first.next_before });
    expect([second.goals, (await list({ before: second.next_before })).goals[0]]).toEqual([["c", "b"], "a"]);
    expect(await list({ goal: "a" })).toMatchObject({ goals: ["a"], next_before: null });
  });

  test("one decision has its record, the points of its score, and its savings", async () => {
    const reply = await dashboard.gateway.chat({ messages: [{ role: "user", content: `why? ${credential}` }] });
    await reply.text();
    sent += 1;
    await dashboard.recorded(sent);
    const id = reply.headers.get("x-smart-gateway-decision-id") ?? "";
    const detail = await dashboard.get("GET decisions/{id}", { at: { id } });
    expect(detail.record).toMatchObject({ decision_id: id, redactions: [{ rule: "github_token", count: 1 }] });
    expect(detail.row).toMatchObject({ decision_id: id, redactions: 1, outcome: "answered" });
    expect(detail.found).toContain("github token");
    expect(detail.given.map(({ name }) => name)).toContain("goal");
    for (const redaction of ["any", "github_token"]) {
      expect((await dashboard.rows({ redaction })).map((row) => row.decision_id)).toEqual([id]);
    }
    const found = await dashboard.get("GET series", { query: { metric: "redactions", by: "redaction" } });
    expect(found.groups).toMatchObject([{ name: "github_token", total: 1 }]);
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

test("the number of feeds is bounded, one that ends makes room, and HEAD takes none", async () => {
  await using dashboard = await startDashboard("sqlite");
  const url = `${dashboard.url}/dashboard/api/decisions/live`;
  for (let asked = 0; asked < 65; asked += 1) expect((await call(url, { method: "HEAD" })).status).toBe(200);
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
  const cases: [object, string][] = [
    [{ limit: 201 }, "limit"],
    [{ range: "9d" }, "range"],
    [{ from_ms: 20, to_ms: 10 }, "from_ms"],
    [{ from_ms: 0 }, "three years"],
    [{ before: "x" }, "before"],
    [{ before: -5 }, "before"],
    [{ gaol: "g" }, "gaol"], // with a misspelt name a filter would show everything
    [{ outcome: "failed,misspelt" }, "broken_stream"],
  ];
  for (const [query, named] of cases) expect(await detail(query)).toContain(named);
  // With a misspelt value it would show nothing.
  const words = ["cause", "rule", "kind", "alias", "tier", "outcome", "status", "refused_by", "cost_state", "action"];
  for (const field of words) expect(await detail({ [field]: "misspelt" })).toStartWith(`${field}: "misspelt" is no`);
  const named = { cause: "hard_pro_rule,none", tier: "pro,none", status: "5xx,402", rule: "tool_depth" };
  expect((await dashboard.call("GET decisions", { query: named })).status).toBe(200);
  expect((await dashboard.call("GET decisions", { query: { before: "", limit: "", goal: "" } })).status).toBe(200);
  expect(await detail({ metric: "money" }, "GET series")).toContain("metric");
});
