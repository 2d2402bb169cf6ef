import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Model } from "#domain/model.ts";
import type { NanoUsdPerMTok } from "#domain/money/money.ts";
import { openLedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import type { SimulatorOptions } from "#simulator/simulator.ts";
import { cuttingProxy } from "../../test/harness/cutting-proxy.ts";
import { eventually, postChat, shippedModels, startUpstream } from "../../test/harness/gateway.ts";
import { postgresMissing, startPostgres, type TestPostgres } from "../../test/harness/postgres.ts";
import { type GatewayProcess, serve } from "../../test/harness/process.ts";
import { audited, callers } from "./load.ts";

/** One node of three differs from the others under load. The upstream's own bill says whether the cap held. */
const missing = postgresMissing();
if (missing !== undefined) console.warn(`The drills are left out: ${missing}.`);
const faketime = `/usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu/faketime/libfaketime.so.1`;
if (!existsSync(faketime)) console.warn("The drill of clocks is left out: faketime is not installed.");

const capUsd = 0.003;
const modelHeader = "x-smart-gateway-model";
const small = { max_tokens: 40 };

describe.skipIf(missing !== undefined)("the cap holds on the upstream's own bill, and the audit is clean, when", () => {
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-drills-"));
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  }, 60_000);
  const started: GatewayProcess[] = [];
  afterAll(async () => {
    // Those of a drill that failed.
    await Promise.all(started.map((node) => node[Symbol.asyncDispose]()));
    await postgres?.remove();
    rmSync(folder, { recursive: true });
  });

  /** An upstream whose calls take a moment, and three nodes on one database; `env` says what is special about a node. */
  async function startCluster(
    env: (index: number, upstreamPort: number) => Record<string, string> | Promise<Record<string, string>>,
    options: Partial<SimulatorOptions> = {},
  ) {
    const upstream = await startUpstream({
      timers: {
        after(delayMs, callback) {
          const timer = setTimeout(callback, Math.min(delayMs, 20));
          return () => clearTimeout(timer);
        },
      },
      ...options,
    });
    const policy = join(folder, `policy-${upstream.port}.json`);
    const budget = { per_day_hard_usd: capUsd, per_goal_hard_usd: capUsd };
    await Bun.write(policy, JSON.stringify({ budget, upstream: { price_limit: "on" } }));
    const url = await postgres.createDatabase();
    const start = async (index: number) =>
      serve({
        DATABASE_URL: url,
        UPSTREAM_BASE_URL: upstream.url,
        ROUTING_POLICY_PATH: policy,
        NODE_ID: `node-${index}`,
        ...(await env(index, upstream.port)),
      });
    const nodes = (await Promise.all([0, 1, 2].map(start))) as [GatewayProcess, GatewayProcess, GatewayProcess];

    started.push(...nodes);

    /** Calls all nodes until the cap refuses each of them; then the bill, the accounts and the audit have to agree. */
    async function expectCapHolds(): Promise<void> {
      const running = load(...nodes);
      for (const node of nodes)
        await eventually(async () => {
          const { headers } = await postChat(node.url, small);
          return headers.get("x-smart-gateway-cause") === "budget_hard_cap_exceeded";
        });
      await running.stop();
      await eventually(() => upstream.unfinished() === 0);
      await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
      expect(upstream.billedNanoUsd()).toBeGreaterThan(0);
      expect(upstream.billedNanoUsd()).toBeLessThanOrEqual(capUsd * 1e9);
      expect(await audited(url)).toMatchObject({ findings: [] });
      await upstream.stop();
    }
    return { nodes, upstream, url, expectCapHolds };
  }

  async function noneHeldOrCharged(url: string): Promise<void> {
    const admin = await openLedgerAdmin(url);
    await eventually(async () => (await admin.holds({ limit: 9, charged: true })).holds.length === 0);
    await admin.close();
  }

  /** Calls these nodes in turn. */
  function load(...nodes: readonly GatewayProcess[]) {
    let turn = 0;
    return callers(2 * nodes.length, () => nodes[turn++ % nodes.length]?.url ?? "", false);
  }

  test.skipIf(!existsSync(faketime))(
    "the clocks of two nodes are an hour off, one ahead and one behind",
    async () => {
      const offsets = ["+0", "+1h", "-1h"];
      const { nodes, url, expectCapHolds } = await startCluster((index) => ({
        LD_PRELOAD: faketime,
        FAKETIME: offsets[index] ?? "",
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
      }));
      const hours = nodes.map((node) => {
        const time = /"time":"?([^",]+)/.exec(node.output())?.[1] ?? "";
        return Math.round((new Date(Number(time) || time).getTime() - Date.now()) / 3_600_000);
      });
      expect(hours.map(String)).toEqual(["0", "1", "-1"]);
      const loads = nodes.map((node) => load(node));
      await eventually(() => loads.every(({ count }) => count() > 15));
      const results = await Promise.all(loads.map(({ stop }) => stop()));
      for (const { answered } of results) expect(answered).toBeGreaterThan(10);
      // No node took another for dead, and none charged what another still waited for.
      await noneHeldOrCharged(url);
      await expectCapHolds();
    },
    60_000,
  );

  test("one node cannot reach the upstream: it refuses clearly and releases its money, and the others go on", async () => {
    let relay: Awaited<ReturnType<typeof cuttingProxy>> | undefined;
    const { nodes, url, expectCapHolds } = await startCluster(async (index, upstreamPort) => {
      if (index !== 0) return {};
      relay = await cuttingProxy(upstreamPort);
      return { UPSTREAM_BASE_URL: `http://127.0.0.1:${relay.port}/api/v1` };
    });
    const [cutOff, ...others] = nodes;
    expect((await postChat(cutOff.url, small)).status).toBe(200);
    await relay?.close();
    const first = load(cutOff);
    const second = load(...others);
    await eventually(() => first.count() > 20 && second.count() > 20);
    const [refused, served] = [await first.stop(), await second.stop()];
    expect(refused.answered).toBe(0);
    for (const each of refused.others) expect(each).toMatch(/could not be reached|No model .+ can serve now/);
    expect(served.others).toEqual([]);
    await noneHeldOrCharged(url);
    await expectCapHolds();
  }, 60_000);

  test("prices double at the upstream, and one node knows before the others, with calls in flight", async () => {
    let factor = 1;
    const times = (rate: number) => (rate * factor) as NanoUsdPerMTok;
    const upstreamModels = (): Model[] =>
      shippedModels.map((model) => {
        if (model.key !== "vendor_v4_flash") return model;
        const { input, cachedInput, output } = model.price;
        const price = { input: times(input), cachedInput: times(cachedInput), output: times(output) };
        return { ...model, price };
      });
    const registry = (index: number) => join(folder, `models-${index}.json`);
    const statePrices = (index: number) => {
      const prices = { input: 0.14 * factor, cached_input: 0.0028 * factor, output: 0.28 * factor };
      return Bun.write(registry(index), JSON.stringify({ models: { vendor_v4_flash: { prices } } }));
    };
    await Promise.all([0, 1, 2].map(statePrices));
    const { nodes, upstream, expectCapHolds } = await startCluster(
      (index) => ({ MODEL_REGISTRY_PATH: registry(index) }),
      { models: upstreamModels },
    );
    const running = load(...nodes);
    await eventually(() => running.count() > 30);
    await eventually(() => upstream.unfinished() > 0);
    factor = 2;
    await statePrices(0);
    nodes[0].signal("SIGHUP");
    const before = running.count();
    await eventually(() => running.count() > before + 30);
    expect((await running.stop()).others).toEqual([]);
    // Whose price is too low is refused by the aggregator, at no cost, and takes the next model.
    const models = await Promise.all(
      nodes.map(async ({ url }) => (await postChat(url, small)).headers.get(modelHeader)),
    );
    expect(models).toEqual(["vendor_v4_flash", "vendor_v4_pro", "vendor_v4_pro"]);
    await expectCapHolds();
  }, 60_000);
});
