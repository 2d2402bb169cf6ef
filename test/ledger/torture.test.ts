import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PostgresConnection } from "#db/postgres.ts";
import { nanoUsd } from "#domain/money/money.ts";
import { openLedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import { BatchedLedger } from "#ledger/batched-ledger.ts";
import { PostgresStore } from "#ledger/postgres/postgres-store.ts";
import { openSqliteStore } from "#ledger/sqlite/sqlite-store.ts";
import type { LedgerStore } from "#ledger/store.ts";
import { nodeOptions, reservationOf } from "#ledger/testing/ledger.contract.ts";
import { type CuttingProxy, cuttingProxy } from "../harness/cutting-proxy.ts";
import { postChat, shippedModels } from "../harness/gateway.ts";
import { postgresMissing, startPostgres, type TestPostgres } from "../harness/postgres.ts";
import { type GatewayProcess, serve } from "../harness/process.ts";
import { type BillingUpstream, billingUpstream } from "./billing-upstream.ts";

/**
 * Whole gateways, as processes, killed at random under load near caps that change, in front of an upstream that bills and then
 * fails. Spend is measured by the upstream's own bill. `npm run test:long` makes each run a minute, and `TORTURE_SECONDS` as long as it
 * says; primaries are killed in runs of 30 s and more.
 */
const seconds = Number(process.env["TORTURE_SECONDS"] || (process.env["SMART_GATEWAY_LONG_TESTS"] === "1" ? 60 : 5));
const isLong = seconds >= 30;
const goalCapNano = 35_000_000;
const dayCapNano = 80_000_000;
const keyCapNano = 20_000_000;
const goals = ["torture-one", "torture-two", "torture-three"];
/** Labels of callers' keys, each with a cap of its own; the last token has none. */
const keys = ["ci", "laptop", "free"];
const tokenOf = (key: string) => `token-of-${key}-for-torture`;
const keysFile = keys
  .map(
    (key) =>
      createHash("sha256").update(tokenOf(key)).digest("hex") +
      (key === "free" ? "" : ` ${key} day_hard_usd=${keyCapNano / 1e9}`),
  )
  .join("\n");

/** `share`: of the highest caps. */
const policyOf = (share: number) => `
budget: { per_goal_hard_usd: ${(goalCapNano * share) / 1e9}, per_goal_soft_usd: 0, per_day_hard_usd: ${(dayCapNano * share) / 1e9}, per_day_soft_usd: 0 }
upstream: { backoff_base_ms: 5, retry_budget_per_second: 1000 }
health: { failures_in_a_row: 1000000 }
`;

interface Figures {
  answered: number;
  refused: number;
  unavailable: number;
  failed: number;
  aborted: number;
  killed: number;
  capChanges: number;
}

interface Run {
  readonly until: number;
  /** No gateway is killed while it is false; all run once this resolves. */
  mayKill: boolean;
  readonly allRun: () => Promise<void>;
}

/**
 * Gateways that are killed and restarted, caps that are lowered and raised, and callers that use any running gateway. `url`: the
 * database as operators reach it.
 */
async function torture(
  env: Record<string, string>,
  url: string,
  count: number,
  upstream: BillingUpstream,
  meanwhile: (run: Run) => Promise<void>,
): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), "smart-gateway-torture-"));
  const policyPath = join(folder, "policy.yaml");
  writeFileSync(policyPath, policyOf(1));
  const keysPath = join(folder, "keys");
  writeFileSync(keysPath, keysFile);
  const settings = {
    ...env,
    UPSTREAM_BASE_URL: upstream.url,
    UPSTREAM_API_KEY: "torture-key",
    ROUTING_POLICY_PATH: policyPath,
    AUTH_KEYS_FILE: keysPath,
  };
  const start = async (index: number): Promise<GatewayProcess> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await serve({ ...settings, NODE_ID: `gateway-${index}` });
      } catch (error) {
        // The store has faults too: a start may fail because of one, and a supervisor would retry.
        if (attempt === 5) throw error;
      }
    }
  };
  const gateways: (GatewayProcess | undefined)[] = await Promise.all(Array.from({ length: count }, (_, i) => start(i)));
  const figures: Figures = { answered: 0, refused: 0, unavailable: 0, failed: 0, aborted: 0, killed: 0, capChanges: 0 };
  const until = performance.now() + seconds * 1_000;
  // A slow machine needs longer to come near the cap.
  const running = () => performance.now() < until + (figures.refused === 0 ? 3 * seconds * 1_000 : 0);

  const caller = async () => {
    while (running()) {
      const gateway = gateways[Math.floor(Math.random() * count)];
      if (gateway === undefined) {
        await Bun.sleep(20);
        continue;
      }
      const goal = goals[Math.floor(Math.random() * goals.length)] ?? "";
      const key = keys[Math.floor(Math.random() * keys.length)] ?? "";
      const stop = new AbortController();
      const leaves = Math.random() < 0.15 ? setTimeout(() => stop.abort(), Math.random() * 60) : undefined;
      try {
        const body = {
          messages: [{ role: "user", content: `torture ${Math.random()}` }],
          max_tokens: 1_000 + Math.floor(Math.random() * 1_000),
          stream: Math.random() < 0.5,
          user: `${goal} ${key}`,
        };
        const headers = { "x-goal-id": goal, authorization: `Bearer ${tokenOf(key)}` };
        const reply = await postChat(gateway.url, body, headers, { signal: stop.signal });
        await reply.text();
        if (reply.status === 200) figures.answered += 1;
        else if (reply.status === 403) {
          figures.refused += 1;
          await Bun.sleep(30);
        } else if (reply.status === 503) figures.unavailable += 1;
        else figures.failed += 1;
      } catch {
        if (stop.signal.aborted) figures.aborted += 1;
        else figures.failed += 1;
      } finally {
        clearTimeout(leaves);
      }
    }
  };
  const killer = async () => {
    while (performance.now() < until - 1_000) {
      await Bun.sleep(300 + Math.random() * 700);
      const index = Math.floor(Math.random() * count);
      const gateway = gateways[index];
      if (gateway === undefined || !run.mayKill) continue;
      gateways[index] = undefined;
      gateway.signal("SIGKILL");
      await gateway.exited();
      figures.killed += 1;
      gateways[index] = await start(index);
    }
  };
  /** Two ways to change a cap: an operator's own one for the day, and a reload of the policy. False where the store is unavailable. */
  const changeCaps = async (ownShare: number | undefined, policyShare: number): Promise<boolean> => {
    writeFileSync(policyPath, policyOf(policyShare));
    for (const gateway of gateways) gateway?.signal("SIGHUP");
    const admin = await openLedgerAdmin(url).catch(() => undefined);
    const own = ownShare === undefined ? null : Math.floor(dayCapNano * ownShare);
    const set = admin?.setCap(`day/${new Date().toISOString().slice(0, 10)}`, own).then(() => true);
    const isSet = (await set?.catch(() => false)) ?? false;
    await admin?.close();
    return isSet;
  };
  const capChanger = async () => {
    const share = () => (Math.random() < 0.5 ? 1 : Math.random());
    while (performance.now() < until - 2_000) {
      await Bun.sleep(400 + Math.random() * 800);
      if (await changeCaps(Math.random() < 0.5 ? undefined : share(), share())) figures.capChanges += 1;
    }
    while (!(await changeCaps(undefined, 1))) await Bun.sleep(200);
  };
  const run: Run = {
    until,
    mayKill: true,
    async allRun() {
      while (gateways.includes(undefined)) await Bun.sleep(50);
    },
  };
  try {
    await Promise.all([...Array.from({ length: 16 }, caller), killer(), capChanger(), meanwhile(run)]);
    // Half of them end by SIGTERM, the others by SIGKILL.
    await Promise.all(
      gateways.map(async (gateway, index) => {
        gateway?.signal(index % 2 === 0 ? "SIGTERM" : "SIGKILL");
        await gateway?.exited();
      }),
    );
  } finally {
    for (const gateway of gateways) await gateway?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  }
  return figures;
}

/** Compares the ledger with the upstream's bill: now, and when everything open has expired. */
async function checkInvariants(
  what: string,
  url: string,
  upstream: BillingUpstream,
  figures: Figures,
  storeLater: (offsetMs: number) => Promise<LedgerStore>,
): Promise<void> {
  const readTotals = async () => {
    const opened = await openLedgerAdmin(url);
    const report = await opened.audit();
    const { accounts } = await opened.accounts(1_000);
    await opened.close();
    expect(report.findings).toEqual([]);
    return { open: report.open, accounts: new Map(accounts.map((account) => [account.id, account])) };
  };
  const billed = [...upstream.bill.values()].reduce((sum, amount) => sum + amount, 0);
  const before = await readTotals();
  const day = [...before.accounts.keys()].find((id) => id.startsWith("day/"))?.slice("day/".length) ?? "";
  const accounts = [
    ...goals.map((goal) => ({ id: `goal/${goal}`, cap: goalCapNano, named: goal })),
    ...keys.slice(0, -1).map((key) => ({ id: `key/${key}/${day}`, cap: keyCapNano, named: key })),
  ].map(({ id, cap, named }) => {
    const own = [...upstream.bill].filter(([user]) => user.split(" ").includes(named));
    return { id, cap, bill: own.reduce((sum, [, amount]) => sum + amount, 0) };
  });
  for (const { id, cap, bill } of accounts) {
    const { spent = 0, held = 0 } = before.accounts.get(id) ?? {};
    expect(bill).toBeLessThanOrEqual(spent + held);
    expect(spent + held).toBeLessThanOrEqual(cap);
  }
  expect(billed).toBeLessThanOrEqual(dayCapNano);

  // Money that is free can be had, whichever node it was granted to.
  const { spent: daySpent = 0, held: dayHeld = 0 } = before.accounts.get(`day/${day}`) ?? {};
  const free = dayCapNano - daySpent - dayHeld;
  const systemClock = { now: () => Date.now(), monotonic: () => performance.now() };
  const another = await BatchedLedger.open(await storeLater(0), "another", nodeOptions(systemClock));
  const caps = { perGoalHard: nanoUsd(dayCapNano), perDayHard: nanoUsd(dayCapNano) };
  const of = (amount: number) => reservationOf({ amount: nanoUsd(amount), goal: "another", ...caps });
  const all = of(free);
  expect((await another.reserve(of(free + 1))).kind).toBe("refused");
  expect((await another.reserve(all)).kind).toBe("held");
  await another.resolve([{ id: all.id, kind: "released", reason: "not used" }]);
  await another.close(2_000);

  // An hour later every deadline has passed: calls of unknown outcome are charged.
  const clock = { now: () => Date.now() + 3_600_000, monotonic: () => performance.now() };
  const sweeper = await BatchedLedger.open(await storeLater(3_600_000), "sweeper", nodeOptions(clock));
  await sweeper.jobs.sweep();
  await sweeper.close(2_000);
  const after = await readTotals();
  expect(after.open).toBe(0);
  for (const { id, cap, bill } of accounts) {
    const account = after.accounts.get(id);
    expect(account?.held ?? 0).toBe(0);
    expect(account?.spent ?? 0).toBeGreaterThanOrEqual(bill);
    expect(account?.spent ?? 0).toBeLessThanOrEqual(cap);
  }
  const { spent = 0 } = after.accounts.get(`day/${day}`) ?? {};
  expect(spent).toBeGreaterThanOrEqual(billed);
  // biome-ignore lint/suspicious/noConsole: each run prints its figures
  console.log(what, {
    ...figures,
    upstreamCalls: upstream.calls(),
    billedUsd: billed / 1e9,
    chargedUsd: spent / 1e9,
    dayCapUsd: dayCapNano / 1e9,
    leftOpen: before.open,
  });
  expect(figures.killed).toBeGreaterThan(0);
  expect(figures.answered).toBeGreaterThan(10);
  // Near the cap, or the run proves nothing.
  expect(figures.refused).toBeGreaterThan(0);
}

describe("gateways killed at random near the cap", () => {
  const limit = { timeout: 4 * seconds * 1_000 + 60_000 };

  test.each(isLong ? [1, 2] : [2])(
    "on one SQLite file, %d processes",
    async (count) => {
      const folder = mkdtempSync(join(tmpdir(), "smart-gateway-torture-db-"));
      const path = join(folder, "gateway.db");
      const upstream = await billingUpstream(shippedModels, Math.random);
      try {
        const url = `sqlite:${path}`;
        const figures = await torture({ DATABASE_URL: url }, url, count, upstream, async () => {});
        await checkInvariants(`SQLite, ${count} processes:`, url, upstream, figures, (offsetMs) =>
          openSqliteStore(path, { now: () => Date.now() + offsetMs, monotonic: () => performance.now() }),
        );
      } finally {
        await upstream.close();
        rmSync(folder, { recursive: true });
      }
    },
    limit,
  );

  describe.skipIf(postgresMissing() !== undefined)("on PostgreSQL", () => {
    let server: TestPostgres;
    let proxy: CuttingProxy;
    beforeAll(async () => {
      server = await startPostgres();
      proxy = await cuttingProxy(server.port);
    });
    afterAll(async () => {
      await proxy.close();
      await server.remove();
    });

    /** Terminates backends and cuts replies to COMMIT. */
    async function disturbConnections({ until }: Run, url: string): Promise<string> {
      const admin = new PostgresConnection(url, 10_000);
      let terminated = 0;
      proxy.mode = "cut_commits";
      proxy.share = 0.05;
      while (performance.now() < until) {
        await Bun.sleep(100 + Math.random() * 400);
        const [gone = []] = await admin.run(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid() AND random() < 0.3`,
        );
        terminated += gone.length;
      }
      proxy.mode = "pass";
      await admin.close();
      expect(terminated + proxy.cut).toBeGreaterThan(0);
      return `${terminated} backends terminated, ${proxy.cut} COMMIT replies cut`;
    }

    /** The primary is killed, and one takes over that lacks nothing: as with a synchronous standby. */
    async function killPrimary({ until }: Run): Promise<string> {
      let killed = 0;
      for (; performance.now() < until - 10_000; killed++) {
        await Bun.sleep(2_000 + Math.random() * 4_000);
        await server.stop("immediate");
        await Bun.sleep(Math.random() * 2_000);
        await server.start();
      }
      return `${killed} primaries killed`;
    }

    /** The primary is killed, and one takes over that lacks the last two seconds. What a gateway knew is lost with it: none is killed then. */
    async function loseCommits(run: Run): Promise<string> {
      let failedOver = 0;
      for (; performance.now() < run.until - 25_000; failedOver++) {
        run.mayKill = false;
        await run.allRun();
        await server.stop();
        server.keepCopy();
        await server.start();
        await Bun.sleep(2_000);
        await server.failOver();
        // By then each gateway has had a heartbeat, and has recovered.
        await Bun.sleep(12_000);
        run.mayKill = true;
        await Bun.sleep(5_000);
      }
      return `${failedOver} fail-overs that lose two seconds`;
    }

    const disturbances = [
      ["terminated backends and cut COMMIT replies", disturbConnections],
      ["a primary that is killed, and a synchronous standby", killPrimary],
      ["a primary that is killed, and an asynchronous standby", loseCommits],
    ] as const;

    test.each(isLong ? disturbances : disturbances.slice(0, 1))(
      "four processes, with %s",
      async (_, disturb) => {
        const url = await server.createDatabase();
        const upstream = await billingUpstream(shippedModels, Math.random);
        try {
          const viaProxy = url.replace(`:${server.port}/`, `:${proxy.port}/`);
          let disturbed = "";
          const figures = await torture({ DATABASE_URL: viaProxy }, url, 4, upstream, async (run) => {
            disturbed = await disturb(run, url);
          });
          await checkInvariants(`PostgreSQL, 4 processes, ${disturbed}:`, url, upstream, figures, (offsetMs) =>
            PostgresStore.open(url, { clockOffsetMs: () => offsetMs }),
          );
        } finally {
          await upstream.close();
        }
      },
      limit,
    );
  });
});
