import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nanoUsd } from "#domain/money/money.ts";
import { openLedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import type { Simulator } from "#simulator/simulator.ts";
import { silent } from "#simulator/testing/scripted.ts";
import { runCommand } from "../harness/command-line.ts";
import { type Answer, authorization, call, eventually, postChat, startUpstream } from "../harness/gateway.ts";
import { postgresMissing, startPostgres, type TestPostgres } from "../harness/postgres.ts";
import { type GatewayProcess, serve } from "../harness/process.ts";

/** Gateways as processes that are killed with calls in flight, and an operator's commands. */
function suite(store: string, database: () => Promise<string>): void {
  describe(`money of killed gateways, ${store}`, () => {
    let folder: string;
    let url: string;
    let upstream: Simulator;
    let policyPath: string;
    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), "smart-gateway-holds-"));
      url = await database();
      upstream = await startUpstream();
      policyPath = join(folder, "policy.yaml");
      writeFileSync(policyPath, "budget: { per_goal_hard_usd: 0.02, per_goal_soft_usd: 0.02 }\n");
    });
    afterEach(async () => {
      await upstream.stop();
      rmSync(folder, { recursive: true });
    });

    const gateway = (nodeId: string | undefined = "gateway") =>
      serve({
        DATABASE_URL: url.replace("FOLDER", folder),
        ...(nodeId === "" ? {} : { NODE_ID: nodeId }),
        UPSTREAM_BASE_URL: upstream.url,
        UPSTREAM_API_KEY: "holds-key",
        ROUTING_POLICY_PATH: policyPath,
      });
    const chat = (running: GatewayProcess) => postChat(running.url, { max_tokens: 8_000 }, { "x-goal-id": "holds" });

    const budgets = (...args: string[]) =>
      runCommand(["budgets", ...args], { env: { DATABASE_URL: url.replace("FOLDER", folder), USER: "ann" } });

    // On another host it is unknown whether a process has ended.
    test.skipIf(store !== "SQLite")(
      "without NODE_ID, a start on the same host knows that the process has ended",
      async () => {
        upstream.follow(() => silent());
        await using dying = await gateway("");
        const asked = Array.from({ length: 8 }, () => chat(dying).catch(() => "cut"));
        await eventually(() => upstream.received() === 8);
        dying.signal("SIGKILL");
        await Promise.all(asked);
        await using running = await gateway("");
        upstream.follow(undefined);
        const refused = await chat(running);
        expect(refused.status).toBe(403);
        await eventually(() => running.output().includes("ledger_taken_over"), running.output);
      },
    );

    test("after four kills the holds are shown, and released at once in the running gateway", async () => {
      upstream.follow(() => silent());
      for (let kill = 0; kill < 4; kill++) {
        await using dying = await gateway();
        const before = upstream.received();
        const asked = [chat(dying), chat(dying)].map((reply) => reply.then(() => "answered").catch(() => "cut"));
        await eventually(() => upstream.received() === before + 2);
        if (kill === 0) {
          const json = (await budgets("holds", "--json")).json();
          expect(json.holds.map(({ state, node }: Answer) => [state, node])).toEqual([
            ["live", "gateway"],
            ["live", "gateway"],
          ]);
          // A running call must not be released by mistake.
          const refused = await budgets("release", json.holds[0].id);
          expect(refused.code).toBe(1);
          expect(refused.out).toContain("may still run on gateway");
        }
        dying.signal("SIGKILL");
        await dying.exited();
        expect(await Promise.all(asked)).toEqual(["cut", "cut"]);
      }

      await using running = await gateway();
      await eventually(async () => {
        const json = (await budgets("holds", "--json")).json();
        return json.totals.every(({ state }: Answer) => state === "unresolved");
      });
      const json = (await budgets("holds", "--json")).json();
      expect(json.totals).toEqual([{ state: "unresolved", count: 8, held_nano_usd: expect.any(Number) }]);
      expect(json.holds).toHaveLength(8);
      const [first, second] = json.holds;
      expect(first).toMatchObject({ state: "unresolved", node: "gateway", why: "owner_died", goal: "holds" });
      expect(first.until_ms).toBeGreaterThan(Date.now() + 60_000);
      expect((await budgets("holds")).out).toContain("8 unresolved");

      // The last two are those that this start has taken over.
      await eventually(() => running.output().includes("ledger_taken_over"), running.output);
      expect(running.output()).toMatch(/"event":"ledger_taken_over",.*"nodes":"gateway","unresolved":2,/);

      upstream.follow(undefined);
      const refused = await chat(running);
      expect(refused.status).toBe(403);
      expect(refused.headers.get("x-should-retry")).toBe("false");
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(60);
      const metrics = await (await call(`${running.url}/metrics`)).text();
      expect(metrics).toContain('smart_gateway_holds{state="unresolved"} 8');
      expect(metrics).toContain('smart_gateway_holds{state="running"} 0');

      expect((await budgets("settle", first.id, "--usd", "0.0001", "--by", "ann", "--why", "invoice")).code).toBe(0);
      expect((await budgets("release", second.id, "--json")).json()).toEqual([
        { id: second.id, result: "released", held_nano_usd: second.held_nano_usd, charged_nano_usd: 0, detail: null },
      ]);
      expect((await chat(running)).status).toBe(200);

      const all = await budgets("release", "--unresolved", "--json");
      expect(all.json()).toHaveLength(6);
      expect(all.code).toBe(0);
      expect((await budgets("release", "--unresolved")).out).toContain("no hold with an unknown outcome");
      // A repeated command, or one by another operator, changes nothing.
      expect((await budgets("settle", first.id, "--usd", "1", "--json")).json()[0].result).toBe("not_found");
      expect((await budgets("release", "nobody.1")).code).toBe(1);
      const after = (await budgets("show", "--json")).json();
      expect([...after.days, ...after.goals].every(({ held_nano_usd }: Answer) => held_nano_usd === 0)).toBe(true);
      expect((await budgets("audit")).code).toBe(0);

      running.signal("SIGTERM");
      expect(await running.exited()).toBe(0);
      expect(running.output()).not.toContain("ledger_conflict");
    }, 180_000);

    test("whichever process closes a hold, its decision record gets the cost, and the records' sum is the ledger's", async () => {
      writeFileSync(policyPath, "upstream: { max_attempts: 1, timeouts_ms: { headers: 200 } }\n");
      upstream.follow(() => silent());
      const record = async (running: GatewayProcess, id: string) => {
        const reply = await call(`${running.url}/v1/route/decisions/${id}`, { headers: authorization });
        return reply.status === 200 ? await reply.json() : undefined;
      };
      const unknown = async (running: GatewayProcess): Promise<string> => {
        let reply = await chat(running);
        // A busy machine sheds load before there is a decision.
        while (reply.status === 503) reply = await chat(running);
        expect(reply.status).toBe(504);
        const id = reply.headers.get("x-smart-gateway-decision-id") ?? "";
        await eventually(async () => (await record(running, id))?.cost_state === "unknown");
        return id;
      };
      const isKnown = (running: GatewayProcess, id: string, cost: number) =>
        eventually(async () => {
          const { cost_state, cost_nano_usd } = await record(running, id);
          return cost_state === "known" && cost_nano_usd === cost;
        });

      await using before = await gateway();
      const [byCommand, byPage, meanwhile] = [await unknown(before), await unknown(before), await unknown(before)];
      expect((await budgets("settle", `${byCommand}.1`, "--usd", "0.0001")).code).toBe(0);
      await isKnown(before, byCommand, 100_000);
      const settled = await call(`${before.url}/dashboard/api/holds/${byPage}.1/settle`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-smart-gateway-csrf": "1" },
        body: JSON.stringify({ usd: "0.0002", why: "invoice" }),
      });
      expect(settled.status).toBe(200);
      await isKnown(before, byPage, 200_000);
      before.signal("SIGTERM");
      expect(await before.exited()).toBe(0);

      // Another process, without access to the gateway's records.
      const admin = await openLedgerAdmin(url.replace("FOLDER", folder));
      const resolution = { id: `${meanwhile}.1`, kind: "settled", actual: nanoUsd(300_000) } as const;
      await admin.resolve("other", [{ ...resolution, source: "upstream_cost", reason: "looked up" }]);
      await admin.close();
      await using after = await gateway();
      await isKnown(after, meanwhile, 300_000);
      const { total } = await (await call(`${after.url}/dashboard/api/summary?range=today`)).json();
      const { days } = (await budgets("show", "--json")).json();
      const [day] = days;
      expect([total.cost_nano_usd, day.spent_nano_usd]).toEqual([600_000, 600_000]);
    }, 180_000);
  });
}

suite("SQLite", async () => "sqlite:FOLDER/gateway.db");

describe.skipIf(postgresMissing() !== undefined)("with PostgreSQL", () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.remove());
  suite("PostgreSQL", () => server.createDatabase());
});
