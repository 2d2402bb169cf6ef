import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLedgerAdmin } from "#ledger/admin/open-ledger-admin.ts";
import { eventually, startUpstream } from "../../test/harness/gateway.ts";
import { postgresMissing, startPostgres, type TestPostgres } from "../../test/harness/postgres.ts";
import { freePort, type GatewayProcess, serve } from "../../test/harness/process.ts";

/** Several gateways as processes on one PostgreSQL: what an operator does to them, and what happens to them. */
const haproxy = Bun.which("haproxy", { PATH: `${process.env["PATH"]}:/usr/sbin` });
const missing = postgresMissing();
if (missing !== undefined) console.warn(`The cluster is not tested: ${missing}.`);
else if (haproxy === null) console.warn("The rolling restart is not tested: haproxy is not installed.");

describe.skipIf(missing !== undefined)("a cluster", () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  }, 60_000);
  afterAll(() => postgres?.remove());

  const audited = async (url: string) => {
    const admin = await openLedgerAdmin(url);
    const report = await admin.audit();
    await admin.close();
    return report;
  };

  /** One call after the other until it is told to stop. */
  function callers(count: number, url: () => string, stream: boolean, patienceMs = 60_000) {
    const results: string[] = [];
    let stopped = false;
    const body = JSON.stringify({
      model: "smart-router-flash",
      stream,
      max_tokens: 40,
      messages: [{ role: "user", content: "Count from one to ten." }],
    });
    const headers = { authorization: "Bearer cluster-test-token", "content-type": "application/json" };
    const one = async () => {
      while (!stopped) {
        try {
          const response = await fetch(`${url()}/v1/chat/completions`, {
            method: "POST",
            headers,
            body,
            signal: AbortSignal.timeout(patienceMs),
          });
          const text = await response.text();
          const isWhole = !stream || (text.endsWith("data: [DONE]\n\n") && !text.includes('"error"'));
          results.push(response.ok && isWhole ? "answered" : `${response.status} ${text.slice(-200)}`);
        } catch (error) {
          results.push(`cut: ${String(error)}`);
        }
      }
    };
    const running = Promise.all(Array.from({ length: count }, one));
    const stop = async () => {
      stopped = true;
      await running;
      return {
        answered: results.filter((each) => each === "answered").length,
        others: results.filter((each) => each !== "answered"),
      };
    };
    return { stop, count: () => results.length };
  }

  test("of ten nodes that start at once on an empty database all serve, and the schema is applied once", async () => {
    const url = await postgres.createDatabase();
    const nodes = await Promise.all(
      Array.from({ length: 10 }, (_, index) => serve({ DATABASE_URL: url, NODE_ID: `node-${index}` })),
    );
    const states = await Promise.all(nodes.map(async (node) => (await fetch(`${node.url}/readyz`)).status));
    expect(states).toEqual(nodes.map(() => 200));
    await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
    expect(await audited(url)).toMatchObject({ findings: [] });
  }, 120_000);

  test("keeps its cap on the upstream's own bill while nodes are killed, frozen, and their database is away", async () => {
    const url = await postgres.createDatabase();
    const upstream = await startUpstream();
    const capUsd = 0.002;
    const policy = join(mkdtempSync(join(tmpdir(), "smart-gateway-cluster-")), "policy.json");
    await Bun.write(policy, JSON.stringify({ budget: { per_day_hard_usd: capUsd, per_goal_hard_usd: capUsd } }));
    const settings = { DATABASE_URL: url, UPSTREAM_BASE_URL: upstream.url, ROUTING_POLICY_PATH: policy };
    const start = (index: number) => serve({ ...settings, NODE_ID: `node-${index}` });
    const nodes: GatewayProcess[] = await Promise.all([0, 1, 2].map(start));
    let turn = 0;
    const load = callers(6, () => nodes[turn++ % nodes.length]?.url ?? "", false, 1_000);
    await eventually(() => load.count() > 50);
    nodes[0]?.signal("SIGKILL");
    await nodes[0]?.exited();
    nodes[1]?.signal("SIGSTOP");
    await eventually(() => load.count() > 100);
    await postgres.stop("immediate");
    nodes[1]?.signal("SIGCONT");
    const before = load.count();
    await eventually(() => load.count() > before + 20);
    await postgres.start();
    nodes[0] = await start(0);
    const again = load.count();
    await eventually(() => load.count() > again + 100);
    await load.stop();
    await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
    expect(upstream.billedNanoUsd()).toBeGreaterThan(0);
    expect(upstream.billedNanoUsd()).toBeLessThanOrEqual(capUsd * 1e9);
    expect(await audited(url)).toMatchObject({ findings: [] });
    await upstream.stop();
  }, 120_000);

  test.skipIf(haproxy === null)(
    "is restarted node by node under load: no request is lost and no stream is cut",
    async () => {
      const url = await postgres.createDatabase();
      const ports = await Promise.all([1, 2, 3].map(() => freePort()));
      const entry = await freePort();
      const start = (index: number) =>
        serve({ DATABASE_URL: url, PORT: String(ports[index]), NODE_ID: `node-${index}`, DRAIN_ACCEPT_MS: "5000" });
      const nodes = await Promise.all([0, 1, 2].map(start));
      const balancer = Bun.spawn([haproxy ?? "", "-db", "-f", join(import.meta.dir, "..", "haproxy.cfg")], {
        env: {
          BIND: `127.0.0.1:${entry}`,
          ...Object.fromEntries(ports.map((port, index) => [`GATEWAY_${index + 1}`, `127.0.0.1:${port}`])),
        },
        stdio: ["ignore", "ignore", "ignore"],
      });
      const address = `http://127.0.0.1:${entry}`;
      await eventually(() =>
        fetch(`${address}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      );
      const whole = callers(4, () => address, false);
      const streams = callers(4, () => address, true);
      for (const [index, node] of nodes.entries()) {
        const { count } = streams;
        const before = count();
        await eventually(() => count() > before + 10);
        node.signal("SIGTERM");
        expect(await node.exited()).toBe(0);
        nodes[index] = await start(index);
      }
      const [first, second] = [await whole.stop(), await streams.stop()];
      balancer.kill();
      await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
      expect([...first.others, ...second.others]).toEqual([]);
      expect(Math.min(first.answered, second.answered)).toBeGreaterThan(30);
      expect(await audited(url)).toMatchObject({ findings: [] });
    },
    120_000,
  );
});
