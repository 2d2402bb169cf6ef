import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PostgresConnection } from "#db/postgres.ts";
import type { JsonObject } from "#domain/chat.ts";
import { openLedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import { runningMs } from "#platform/testing/running-time.ts";
import { completes, replies } from "#simulator/behaviours.ts";
import { after, chunk, streams } from "#simulator/testing/scripted.ts";
import { type CuttingProxy, cuttingProxy } from "../harness/cutting-proxy.ts";
import { eventually, start, token } from "../harness/gateway.ts";
import { postgresMissing, startPostgres, type TestPostgres } from "../harness/postgres.ts";

/** A promise that the test resolves. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe("a budget refusal", () => {
  // Flash: 0.28 USD per million output tokens. 100,000 tokens are 0.028 USD, and a little for the prompt.
  const policy = { budget: { per_goal_hard_usd: 0.05, per_goal_soft_usd: 0.05 } };
  const large = { max_tokens: 100_000 };
  const goal = { "x-goal-id": "refusals" };

  test("has a Retry-After if running requests hold the money, and the numbers", async () => {
    const answering = gate();
    await using gateway = await start({ policy, script: () => after(answering.opened, completes()) });
    const running = gateway.chat(large, goal);
    await eventually(() => gateway.upstream.received() === 1);
    const refused = await gateway.chat(large, goal);
    expect(refused.status).toBe(403);
    expect(refused.headers.get("x-smart-gateway-cause")).toBe("budget_hard_cap_exceeded");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(refused.headers.get("x-should-retry")).not.toBe("false");
    const { detail } = await refused.json();
    for (const part of ["cap of the goal", "spent 0 USD", "held 0.028", "cap 0.05 USD", "per_goal_hard_usd"]) {
      expect(detail).toContain(part);
    }
    answering.open();
    expect((await running).status).toBe(200);
    await gateway.ledger();
    expect((await gateway.chat(large, goal)).status).toBe(200);
  });
});

/** Calls one after the other near the cap, on each of the nodes in turn: each holds nearly half of the cap and costs almost nothing. */
async function sequence(databaseUrl: string, nodes: number): Promise<void> {
  // Flash: 0.28 USD per million output tokens. 9,000 tokens are 0.00252 USD, and a little for the prompt.
  const policy = { budget: { per_goal_hard_usd: 0.0056, per_goal_soft_usd: 0.0056 } };
  const gateways = await Promise.all(
    Array.from({ length: nodes }, (_, i) =>
      start({
        policy,
        env: { DATABASE_URL: databaseUrl, NODE_ID: `node-${i}` },
        script: () => completes({ text: "ok" }),
      }),
    ),
  );
  try {
    for (let call = 0; call < 20; call++) {
      for (const [index, gateway] of gateways.entries()) {
        const goal = { "x-goal-id": `sequence-${index}` };
        // Two at once fill the cap; each of the next pair needs what both have released.
        const statuses = await Promise.all(
          [0, 1].map(async () => {
            const answer = await gateway.chat({ max_tokens: 9_000 }, goal);
            await answer.text();
            return answer.status;
          }),
        );
        expect(statuses).toEqual([200, 200]);
      }
    }
  } finally {
    for (const gateway of gateways) await gateway.stop();
  }
}

describe("a caller near the cap who waits for each answer", () => {
  test("is never refused if its last answers have released the money: SQLite", async () => {
    const folder = mkdtempSync(join(tmpdir(), "smart-gateway-sequence-"));
    try {
      await sequence(`sqlite:${join(folder, "gateway.db")}`, 1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test.skipIf(postgresMissing() !== undefined)("… and on each of two nodes over PostgreSQL", async () => {
    const server = await startPostgres();
    try {
      await sequence(await server.createDatabase(), 2);
    } finally {
      await server.remove();
    }
  });
});

describe("a cost far above the hold", () => {
  /** A whole answer, or a stream, that states a cost. */
  const costing = (costUsd: number) => (request: { body: JsonObject | undefined }) => {
    const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12, cost: costUsd };
    if (request.body?.["stream"] !== true) {
      const message = { role: "assistant", content: "hi" };
      return replies(200, { id: "gen-1", choices: [{ index: 0, message, finish_reason: "stop" }], usage });
    }
    return streams({
      events: [chunk({ content: "hi" }), chunk({}, "stop"), { choices: [], usage }].map((event) => ({
        ...event,
        model: null,
      })),
    });
  };

  test.each([false, true])("is charged up to what the model can have written (stream: %p)", async (stream) => {
    await using gateway = await start();
    const decisions: (string | null)[] = [];
    for (const costUsd of [9_000_000, 9_000_000, 1e300]) {
      gateway.upstream.follow(costing(costUsd));
      const messages = [{ role: "user", content: `the next after ${decisions.length}` }];
      const reply = await gateway.chat({ stream, max_tokens: 1_000, messages });
      expect(reply.status).toBe(200);
      decisions.push(reply.headers.get("x-smart-gateway-decision-id"));
      await reply.text();
      await gateway.ledger();
    }
    const { spent } = await gateway.ledger();
    // 131,072 tokens of output at 0.28 USD a million and a little for the prompt, three times.
    expect(spent).toBeWithin(3 * 36_700_160, 3 * 36_800_000);
    const logged = gateway.log.filter(({ event }) => event === "upstream_cost_distrusted");
    expect(logged).toHaveLength(3);
    expect(logged[0]?.fields).toMatchObject({ model: "vendor_v4_flash", stated_nano_usd: 9e15 });
    expect(logged.map(({ fields }) => fields["decision_id"] as string)).toEqual(decisions as string[]);
    expect(await (await gateway.get("/metrics")).text()).toContain(
      'smart_gateway_distrusted_costs_total{model="vendor_v4_flash"} 3',
    );
    expect((await gateway.health())["vendor_v4_flash"]).toBe("QUARANTINE");
  });

  test("is charged in full where the model can have written it, and the model is stopped whatever bound was asked", async () => {
    await using gateway = await start({ script: costing(0.03) });
    for (const state of ["HEALTHY", "HEALTHY", "QUARANTINE"]) {
      const messages = [{ role: "user", content: `the next after ${gateway.upstream.received()}` }];
      await (await gateway.chat({ max_tokens: 10, messages })).text();
      await gateway.ledger();
      expect((await gateway.health())["vendor_v4_flash"]).toBe(state);
    }
    expect((await gateway.ledger()).spent).toBe(90_000_000);
  });

  test("overruns exclude a model once three conversations have met one", async () => {
    await using gateway = await start({ script: costing(0.001) });
    for (const state of ["HEALTHY", "HEALTHY", "QUARANTINE"]) {
      const messages = [{ role: "user", content: `the next after ${state}, ${gateway.upstream.received()}` }];
      await (await gateway.chat({ max_tokens: 1_000, messages })).text();
      expect((await gateway.health())["vendor_v4_flash"]).toBe(state);
    }
  });
});

describe.skipIf(postgresMissing() !== undefined)("while the budget store is unavailable", () => {
  let server: TestPostgres;
  let proxy: CuttingProxy;
  beforeAll(async () => {
    server = await startPostgres({ fsync: "off" });
    proxy = await cuttingProxy(server.port);
  });
  afterAll(async () => {
    await proxy.close();
    await server.remove();
  });

  test("503 is answered while a server is read-only, as after a fail-over, and no restart is needed afterwards", async () => {
    const url = await server.createDatabase();
    const database = new URL(url).pathname.slice(1);
    const admin = new PostgresConnection(server.url, 10_000);
    await using gateway = await start({ env: { DATABASE_URL: url } });
    expect((await gateway.chat()).status).toBe(200);
    await admin.run(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
    await admin.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`);
    const calls = gateway.upstream.received();
    let refused = await gateway.chat();
    await eventually(async () => {
      refused = await gateway.chat();
      return refused.status === 503;
    });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(gateway.upstream.received() - calls).toBeLessThanOrEqual(1);
    // Open sessions stay read-only: only new ones, which the gateway must open itself, accept writes.
    await admin.run(`ALTER DATABASE ${database} RESET default_transaction_read_only`);
    await admin.close();
    await eventually(async () => (await gateway.chat()).status === 200);
    await eventually(async () => (await gateway.get("/healthz")).status === 200);
  });

  test.each(["swallow", "refuse"] as const)(
    "(%s) new requests get 503 in 1.5 s without an upstream call, running streams complete, and all settle afterwards",
    async (mode) => {
      const url = await server.createDatabase();
      proxy.mode = "pass";
      const streaming = gate();
      await using gateway = await start({
        env: { DATABASE_URL: url.replace(`:${server.port}/`, `:${proxy.port}/`) },
        script: () => after(streaming.opened, completes({ text: "streamed to its end" })),
      });
      const running = gateway.chat({ stream: true }, { "x-goal-id": "away" });
      await eventually(() => gateway.upstream.received() === 1);

      proxy.mode = mode;
      const asked = runningMs();
      const replies = await Promise.all(
        Array.from({ length: 12 }, (_, i) => gateway.chat({}, { "x-goal-id": i % 2 === 0 ? "away" : `new-${i}` })),
      );
      expect(runningMs() - asked).toBeLessThan(1_500);
      for (const reply of replies) {
        expect(reply.status).toBe(503);
        expect(Number(reply.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      }
      expect(gateway.upstream.received()).toBe(1);
      expect((await gateway.get("/healthz")).status).toBe(503);
      streaming.open();
      const text = await (await running).text();
      expect(text).toContain('"finish_reason":"stop"');
      expect(text).not.toContain('"error"');
      expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);

      proxy.mode = "pass";
      const { spent } = await gateway.ledger();
      expect(spent).toBeGreaterThan(0);
      expect((await gateway.chat({}, { "x-goal-id": "away" })).status).toBe(200);
      await gateway.ledger();
      const admin = await openLedgerAdmin(url);
      const { findings, open } = await admin.audit();
      await admin.close();
      expect({ findings, open }).toEqual({ findings: [], open: 0 });
    },
  );
});

test("the status of a goal has its spend and the current caps, and the model that it was last sent to", async () => {
  await using gateway = await start();
  const headers = { "x-session-id": "s-1", "x-goal-id": "release" };
  expect((await gateway.chat({}, headers)).status).toBe(200);
  await gateway.ledger();
  const authorization = { authorization: `Bearer ${token}` };
  const status = await (await gateway.get("/v1/route/status?session=s-1&goal=release", authorization)).json();
  expect(status).toMatchObject({
    goal: { id: "s-1/release", hard_cap_usd: "5", held_usd: "0" },
    day: { id: new Date().toISOString().slice(0, 10), hard_cap_usd: "50" },
    model: { key: "vendor_v4_flash", upstream_id: "deepseek/deepseek-v4-flash" },
  });
  const long = await gateway.get(`/v1/route/status?goal=${"x".repeat(300)}`, authorization);
  expect([long.status, (await long.json()).detail]).toEqual([422, "goal: must have 1 to 256 characters."]);
});
