import { describe, expect, test } from "bun:test";
import type { BillingLookups, Ledger } from "#ledger/ledger.ts";
import { completes, fails } from "#simulator/behaviours.ts";
import { after } from "#simulator/testing/scripted.ts";
import { type Answer, type Reply, start, upstreamIds } from "../../harness/gateway.ts";

async function refusal(response: Reply): Promise<Answer> {
  expect(response.headers.get("content-type")).toBe("application/json");
  const body: Answer = await response.json();
  expect(Object.keys(body)).toEqual(["detail"]);
  return {
    status: response.status,
    detail: body.detail,
    cause: response.headers.get("x-smart-gateway-cause"),
    action: response.headers.get("x-smart-gateway-action"),
  };
}

describe("budget", () => {
  test("a hard cap that the request could exceed denies it with 403, before anything is sent", async () => {
    await using gateway = await start({ policy: { budget: { per_goal_hard_usd: 0.000001 } } });
    for (const stream of [false, true]) {
      const refused = await refusal(await gateway.chat({ stream }));
      expect(refused).toMatchObject({ status: 403, action: "DENY", cause: "budget_hard_cap_exceeded" });
      expect(refused.detail).toMatch(/budget|cap/i);
    }
    expect(gateway.upstream.received()).toBe(0);
    expect(await gateway.ledger()).toEqual({ spent: 0, held: 0 });
  });

  test("the day's hard cap applies to the sum of all goals", async () => {
    // Room for one request with its output bound of 1,000 tokens, not for two at once.
    await using gateway = await start({ policy: { budget: { per_day_hard_usd: 0.0004 } } });
    const gate = Promise.withResolvers<void>();
    gateway.upstream.next(after(gate.promise, completes()));
    const first = gateway.chat({ max_tokens: 1_000 }, { "x-goal-id": "one" });
    await gateway.upstream.request(0);
    const second = await refusal(await gateway.chat({ max_tokens: 1_000 }, { "x-goal-id": "two" }));
    expect(second).toMatchObject({ status: 403, cause: "budget_hard_cap_exceeded" });
    gate.resolve();
    expect((await first).status).toBe(200);
    await gateway.ledger();
    expect((await gateway.chat({ max_tokens: 1_000 }, { "x-goal-id": "two" })).status).toBe(200);
  });

  test("a burst of requests never exceeds the hard cap, by the upstream's own bill", async () => {
    const hardUsd = 0.003;
    await using gateway = await start({
      policy: { budget: { per_goal_hard_usd: hardUsd, per_goal_soft_usd: hardUsd } },
    });
    const answers = await Promise.all(Array.from({ length: 60 }, () => gateway.chat({ max_tokens: 1_000 })));
    const statuses = answers.map((answer) => answer.status);
    expect(new Set(statuses)).toEqual(new Set([200, 403]));
    const ledger = await gateway.ledger();
    expect(ledger.spent).toBeLessThanOrEqual(hardUsd * 1e9);
    expect(gateway.upstream.billedNanoUsd()).toBe(ledger.spent);
  });

  test("above a soft cap reasoning: high goes to flash; forced pro and hard rules stay on pro", async () => {
    await using gateway = await start({ policy: { budget: { per_goal_soft_usd: 0.000001 } } });
    const rows: [Answer, Record<string, string>, string][] = [
      [{ metadata: { reasoning: "high" } }, {}, "vendor_v4_flash budget_soft_cap"],
      [{ metadata: { routing: "pro" } }, {}, "vendor_v4_flash budget_soft_cap"],
      [{}, { "x-pro": "true" }, "vendor_v4_pro explicit_pro"],
      [{}, { "x-failure-class": "STRUCTURAL" }, "vendor_v4_pro hard_pro_rule"],
    ];
    for (const [body, sent, expected] of rows) {
      const { status, headers } = await gateway.chat({ model: "smart-router", ...body }, sent);
      const answered = `${headers.get("x-smart-gateway-model")} ${headers.get("x-smart-gateway-cause")}`;
      expect([status, answered]).toEqual([200, expected]);
    }
  });
});

describe("stop for a human", () => {
  test("no routable model: 403, all_models_unhealthy, and Retry-After", async () => {
    await using gateway = await start({
      policy: { health: { failures_in_a_row: 1 }, upstream: { max_attempts: 10 } },
      script: () => fails(500, "on fire"),
    });
    await (await gateway.chat()).text();
    for (let turn = 0; turn < 5; turn++) await (await gateway.chat({ model: "smart-router-pro" })).text();
    const calls = gateway.upstream.received();
    // The first one may be admitted as the early probe; the next is refused with certainty.
    await (await gateway.chat()).text();
    const response = await gateway.chat();
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await refusal(response)).toMatchObject({
      status: 403,
      action: "STOP_FOR_HUMAN",
      cause: "all_models_unhealthy",
    });
    expect(gateway.upstream.received()).toBeLessThanOrEqual(calls + 3);
  });

  test("a task that has failed too often: 403, attempts_exhausted, and no retry", async () => {
    await using gateway = await start({ policy: { limits: { max_attempts: 3 } } });
    const report = { "x-task-id": "stuck", "x-failure-class": "LOCAL" };
    const statuses: number[] = [];
    for (let turn = 0; turn < 5; turn++) statuses.push((await gateway.chat({}, report)).status);
    expect(statuses.at(0)).toBe(200);
    const response = await gateway.chat({}, report);
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(await refusal(response)).toMatchObject({
      status: 403,
      action: "STOP_FOR_HUMAN",
      cause: "attempts_exhausted",
    });
    // Turns of an agent loop are not attempts.
    for (let turn = 0; turn < 6; turn++) expect((await gateway.chat({}, { "x-task-id": "loop" })).status).toBe(200);
  });
});

describe("the budget store is unavailable", () => {
  /** A ledger whose store never answers. */
  const away: Ledger & BillingLookups = {
    reserve: async () => ({ kind: "unavailable", reason: "no answer within 1 s" }),
    resolve: async () => undefined,
    resolveInBackground: () => undefined,
    peek: () => undefined,
    peekDay: () => undefined,
    read: async () => undefined,
    heldMoney: async () => undefined,
    status: () => ({ kind: "sqlite", ok: false, queued: 0, oldestMs: 0 }),
    oldestMs: () => 0,
    takeLookups: async () => [],
    dropLookups: async () => undefined,
    close: async () => undefined,
  };

  test("nothing is sent: 503 with Retry-After; unavailable and not ready, but livez and the dry run answer", async () => {
    await using gateway = await start({ overrides: { ledger: away } });
    for (const stream of [false, true]) {
      const response = await gateway.chat({ stream });
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
      expect((await refusal(response)).status).toBe(503);
    }
    expect(gateway.upstream.received()).toBe(0);
    const health = await gateway.get("/healthz");
    expect([health.status, (await health.json()).status]).toEqual([503, "unavailable"]);
    expect((await gateway.get("/readyz")).status).toBe(503);
    expect((await gateway.get("/livez")).status).toBe(200);
    expect((await gateway.decide({})).action).toBe("ROUTE");
  });

  test.each([
    ["restart_needed", "Restart needed", 503],
    ["store_lost", "deleted, replaced or emptied", 200],
  ] as const)(
    "a permanent failure (%s) says what the operator must do, and not to retry",
    async (failed, words, live) => {
      for (const oldestMs of [0, 60_000]) {
        const status = () => ({ kind: "sqlite", ok: false, queued: 1, oldestMs, failed }) as const;
        await using gateway = await start({ overrides: { ledger: { ...away, status } } });
        const response = await gateway.chat();
        expect(response.headers.get("retry-after")).toBeNull();
        expect(response.headers.get("x-should-retry")).toBe("false");
        const { detail } = await refusal(response);
        expect(detail).toContain(words);
        expect(detail).not.toContain("Try again");
        // A restart repairs a failed sync. It would begin an empty ledger after a deletion, so no supervisor may restart then.
        expect((await gateway.get("/livez")).status).toBe(live);
        expect((await gateway.get("/readyz")).status).toBe(503);
        expect((await (await gateway.get("/healthz")).json()).database).toMatchObject({ ok: false, failed });
      }
    },
  );
});

describe("the scout", () => {
  // Every score is in the gray zone, so that only privacy and the scout's verdict decide.
  const gray = { routing: { flash_below: 0, pro_from: 100 } };
  const open = { model: "smart-router", metadata: { sensitive: false } };

  test("decides a request in the gray zone that is not sensitive, streamed or not", async () => {
    await using gateway = await start({ policy: gray });
    for (const stream of [false, true]) {
      gateway.upstream.next(completes({ text: "PRO" }));
      const response = await gateway.chat({ ...open, stream });
      expect(response.headers.get("x-smart-gateway-action")).toBe("SCOUT");
      expect(response.headers.get("x-smart-gateway-cause")).toBe("gray_zone_scout");
      expect(response.headers.get("x-smart-gateway-model")).toBe("vendor_free_scout");
      expect(await response.text()).toContain(upstreamIds["vendor_v4_pro"] ?? "?");
    }
  });

  test("never receives a sensitive request: the midpoint decides", async () => {
    await using gateway = await start({ policy: gray });
    const response = await gateway.chat({ model: "smart-router" });
    expect(response.headers.get("x-smart-gateway-cause")).toMatch(/^gray_zone_(flash|pro)$/);
    expect(gateway.upstream.received()).toBe(1);
  });

  test.each([
    ["fails", fails(500)],
    ["is rate limited", fails(429)],
    ["refuses", fails(400)],
    ["talks nonsense", completes({ text: "As a language model" })],
    ["says nothing", completes({ text: "" })],
    ["names both", completes({ text: "flash or pro" })],
  ])("that %s costs nothing but the wait", async (_, trouble) => {
    await using gateway = await start({ policy: gray });
    gateway.upstream.next(trouble);
    const response = await gateway.chat(open);
    expect(response.status).toBe(200);
    expect((await response.json()).choices[0].message.content).toContain("[simulated]");
  });

  test("that does not answer in time is aborted, and the midpoint decides", async () => {
    // Long enough for a busy machine to send the call to the upstream before the time limit.
    await using gateway = await start({ policy: { ...gray, scout: { timeout_ms: 1_000 } } });
    gateway.upstream.next(() => undefined);
    expect((await gateway.chat(open)).status).toBe(200);
    expect(await (await gateway.upstream.request(0)).ended).toBe("caller_gone");
  });

  test("receives a shortened ask, and nothing of the caller's tools", async () => {
    await using gateway = await start({ policy: gray });
    const messages = [{ role: "user", content: `please ${"x".repeat(100_000)}` }];
    await (await gateway.chat({ ...open, messages, tools: [{ type: "function", function: { name: "f" } }] })).text();
    const { body, rawBody } = await gateway.upstream.request(0);
    expect(rawBody.length).toBeLessThan(7_000);
    expect(body).not.toHaveProperty("tools");
    expect(body?.["stream"] ?? false).toBe(false);
  });
});
