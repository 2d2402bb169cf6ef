import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Policy } from "#config/policy.ts";
import { openSqlite } from "#db/sqlite.ts";
import { sqliteDatabase } from "#db/store-database.ts";
import type { ModelKey } from "#domain/model.ts";
import { manualTime } from "#platform/testing/manual-time.ts";
import { bad, flash, minute, modelWith, ok, pro, registryWith, second } from "./fixtures.ts";
import type { Verdict } from "./health.ts";
import { HealthSync } from "./health-sync.ts";
import { ProcessHealthRegistry } from "./registry.ts";
import type { HealthRules } from "./state-machine/model-health.ts";
import { type HealthStore, sqlHealthStore } from "./store/health-store.ts";

const models = registryWith(modelWith(flash, "worker"), modelWith(pro, "senior"));
const rules: HealthRules = { ...Policy.parse({}).health, price_breaches_to_quarantine: 1 };

/** A memory store that can become unavailable; its rows outlive the nodes. */
function sharedStore() {
  const inner = sqlHealthStore(sqliteDatabase(openSqlite(":memory:")));
  const state = { unavailable: false, saves: 0 };
  const gate =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (state.unavailable) throw new Error("connection refused");
      return call(...args);
    };
  const store: HealthStore = {
    load: gate(inner.load),
    save: gate(async (rows) => {
      state.saves += rows.length;
      return inner.save(rows);
    }),
    saveSamples: gate(inner.saveSamples),
    override: gate(inner.override),
    close: async () => {},
  };
  return { store, state };
}

function nodeOn(store: HealthStore, time = manualTime(), nodeId = "node-a", shared = false) {
  const events: string[] = [];
  const registry = new ProcessHealthRegistry({
    models: () => models,
    rules: () => rules,
    clock: time.clock,
    random: () => 0.5,
  });
  const sync = new HealthSync({
    registry,
    store,
    clock: time.clock,
    timers: time.timers,
    nodeId,
    shared,
    onStore: (state, problem) => events.push(problem === undefined ? state : `${state}: ${problem}`),
  });
  const report = (key: ModelKey, verdict: Verdict, times = 1) => {
    for (let i = 0; i < times; i++) registry.admit(key)?.report(verdict);
  };
  return { time, registry, sync, report, events, state: (key: ModelKey) => registry.view()[key]?.state };
}

/** A node that has read the store. */
async function startedOn(...given: Parameters<typeof nodeOn>) {
  const node = nodeOn(...given);
  await node.sync.start();
  return node;
}

describe("after a restart", () => {
  test("a pause continues", async () => {
    const { store } = sharedStore();
    const before = await startedOn(store);
    before.report(flash, bad, 5);
    const { retryAtMs } = before.registry.view()[flash] ?? {};
    await before.time.advanceAsync(second);
    const after = await startedOn(store, before.time);
    const reason = "5 failures in a row (timed_out)";
    expect(after.registry.view()[flash]).toMatchObject({ state: "UNHEALTHY", routable: false, retryAtMs, reason });
  });

  test("the pause of a 429 remains", async () => {
    const { store } = sharedStore();
    const before = await startedOn(store);
    before.report(flash, { kind: "limited", retryAfterMs: minute });
    await before.sync.close();
    const after = await startedOn(store, before.time);
    expect(after.registry.view()[flash]).toMatchObject({ state: "HEALTHY", routable: false });
  });
});

describe("the store", () => {
  test("may be unavailable: health continues with the last known state, reports the failure once, and catches up", async () => {
    const { store, state } = sharedStore();
    const node = await startedOn(store);
    state.unavailable = true;
    node.report(flash, bad, 5);
    await node.time.advanceAsync(2 * second);
    expect(node.events).toEqual([]);
    await node.time.advanceAsync(3 * second);
    expect(node.state(flash)).toBe("UNHEALTHY");
    expect(node.events).toEqual(["unavailable: connection refused"]);
    state.unavailable = false;
    await node.time.advanceAsync(second);
    expect(node.events).toEqual(["unavailable: connection refused", "available"]);
    expect((await store.load()).rows.find((row) => row.model === flash)?.health?.state).toBe("UNHEALTHY");
  });
});

describe("the operator, in another process", () => {
  test("disables, enables and resets within a second", async () => {
    const { store } = sharedStore();
    const node = await startedOn(store);
    const setOverride = async (action: "disable" | "enable" | "reset") => {
      await store.override({ model: flash, action, atMs: node.time.clock.now(), by: "ada" });
      await node.time.advanceAsync(second);
    };
    await setOverride("disable");
    expect(node.state(flash)).toBe("DISABLED");
    await setOverride("enable");
    expect(node.state(flash)).toBe("STALE");
    node.report(flash, bad, 2);
    expect(node.state(flash)).toBe("UNHEALTHY");
    await setOverride("reset");
    expect(node.registry.view()[flash]).toMatchObject({ state: "HALF_OPEN", routable: true });
  });

  test("resets once: later failures count again", async () => {
    const { store } = sharedStore();
    const node = await startedOn(store);
    await store.override({ model: flash, action: "reset", atMs: node.time.clock.now(), by: "ada" });
    await node.time.advanceAsync(second);
    node.report(flash, bad, 5);
    await node.time.advanceAsync(5 * second);
    expect(node.state(flash)).toBe("UNHEALTHY");
  });
});

describe("several nodes", () => {
  const cluster = async (size: number) => {
    const { store } = sharedStore();
    const time = manualTime();
    const nodes = Array.from({ length: size }, (_, i) => nodeOn(store, time, `node-${i}`, true));
    for (const node of nodes) await node.sync.start();
    const states = () => nodes.map((node) => node.state(flash));
    /** Lets all nodes report several verdicts, with successes on the listed nodes. */
    const pass = async (ms: number, well: readonly number[] = []) => {
      for (let left = ms; left > 0; left -= second) {
        for (const i of well) nodes[i]?.report(flash, ok);
        await time.advanceAsync(second);
      }
    };
    return { store, time, nodes, states, pass };
  };

  test("if only one trips, it excludes the model for thirty seconds, and the others do not", async () => {
    const { nodes, states, pass } = await cluster(4);
    await pass(6 * second, [0, 1, 2, 3]);
    nodes[0]?.report(flash, bad, 5);
    await pass(5 * second, [1, 2, 3]);
    expect(states()).toEqual(["UNHEALTHY", "HEALTHY", "HEALTHY", "HEALTHY"]);
    await pass(24 * second, [1, 2, 3]);
    expect(nodes[0]?.registry.admit(flash)).toBeUndefined();
    await pass(2 * second, [1, 2, 3]);
    const probe = nodes[0]?.registry.admit(flash);
    await pass(2 * second, [1, 2, 3]);
    expect(states()).toEqual(["HALF_OPEN", "HEALTHY", "HEALTHY", "HEALTHY"]);
    probe?.report(ok);
    nodes[0]?.report(flash, ok, 2);
    await pass(3 * second, [1, 2, 3]);
    expect(states()).toEqual(["DEGRADED", "HEALTHY", "HEALTHY", "HEALTHY"]);
  });

  test("if half of the nodes with traffic agree, all exclude the model", async () => {
    const { nodes, states, pass } = await cluster(4);
    await pass(6 * second, [0, 1, 2, 3]);
    nodes[0]?.report(flash, bad, 5);
    await pass(5 * second, [1, 2, 3]);
    nodes[1]?.report(flash, bad, 5);
    await pass(5 * second, [2, 3]);
    expect(states()).toEqual(["UNHEALTHY", "UNHEALTHY", "UNHEALTHY", "UNHEALTHY"]);
  });

  test("a dead node does not count", async () => {
    const { nodes, states, pass } = await cluster(3);
    await pass(6 * second, [0, 1, 2]);
    await nodes[1]?.sync.close();
    await nodes[2]?.sync.close();
    await pass(12 * second, [0]);
    nodes[0]?.report(flash, bad, 5);
    await pass(2 * second);
    expect(states()[0]).toBe("UNHEALTHY");
    expect(nodes[0]?.registry.view()[flash]?.reason).toBe("5 failures in a row (timed_out)");
    expect((nodes[0]?.registry.view()[flash]?.retryAtMs ?? 0) - (nodes[0]?.registry.view()[flash]?.sinceMs ?? 0)).toBe(
      15 * second,
    );
  });

  test("a price breach or a 429 on one node applies to all", async () => {
    const { nodes, states, pass } = await cluster(3);
    await pass(6 * second, [0, 1, 2]);
    nodes[0]?.report(flash, { kind: "price_breach" });
    nodes[1]?.report(pro, { kind: "limited", retryAfterMs: minute });
    await pass(2 * second, [1, 2]);
    expect(states()).toEqual(["QUARANTINE", "QUARANTINE", "QUARANTINE"]);
    expect(nodes.map((node) => node.registry.view()[pro]?.routable)).toEqual([false, false, false]);
  });

  test("while one node probes the others wait, and they resume when it has succeeded", async () => {
    const { nodes, states, pass } = await cluster(3);
    await pass(6 * second, [0]);
    nodes[0]?.report(flash, bad, 5);
    await pass(17 * second);
    const probe = nodes[2]?.registry.admit(flash);
    expect(probe?.probe).toBe(true);
    await pass(2 * second);
    expect(nodes[0]?.registry.admit(flash)).toBeUndefined();
    probe?.report(ok);
    nodes[2]?.report(flash, ok, 2);
    await pass(2 * second);
    expect(states()).toEqual(["DEGRADED", "DEGRADED", "DEGRADED"]);
  });

  test("in any order of events: once the nodes are in sync, a model excluded for the cluster is excluded on every node", async () => {
    const node = fc.nat(2);
    const times = fc.integer({ min: 1, max: 6 });
    const act = fc.oneof(
      { weight: 16, arbitrary: fc.record({ do: fc.constantFrom("fail" as const, "succeed" as const), node, times }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("breach" as const), node }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("disable", "enable", "reset") }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant("toggle_store" as const) }) },
      { weight: 8, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.nat(20_000) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 60, size: "max" }), async (acts) => {
        const { store, state } = sharedStore();
        const time = manualTime();
        const nodes = Array.from({ length: 3 }, (_, i) => nodeOn(store, time, `node-${i}`, true));
        for (const one of nodes) await one.sync.start();
        for (const one of acts) {
          if (one.do === "fail") nodes[one.node]?.report(flash, bad, one.times);
          else if (one.do === "succeed") nodes[one.node]?.report(flash, ok, one.times);
          else if (one.do === "breach") nodes[one.node]?.report(flash, { kind: "price_breach" });
          else if (one.do === "toggle_store") state.unavailable = !state.unavailable;
          else if (one.do === "wait") await time.advanceAsync(one.ms);
          else if (!state.unavailable) {
            await store.override({ model: flash, action: one.do, atMs: time.clock.now(), by: "ada" });
          }
        }
        state.unavailable = false;
        await time.advanceAsync(5 * second);
        // Evidence also expires without requests, and the nodes may then agree again. They are in sync when the row stays the same.
        const rowOfFlash = async () => (await store.load()).rows.find((row) => row.model === flash);
        for (let before = -1, row = await rowOfFlash(); row !== undefined && row.epoch !== before; ) {
          before = row.epoch;
          await time.advanceAsync(3 * second);
          row = await rowOfFlash();
        }
        const { overrides } = await store.load();
        const kept = (await rowOfFlash())?.health?.state;
        const disabled = overrides.some((override) => override.disabled);
        const states = nodes.map((one) => one.state(flash));
        for (const own of states) {
          expect(own === "DISABLED").toBe(disabled);
          if (!disabled && (kept === "UNHEALTHY" || kept === "QUARANTINE")) expect(own).toBe(kept);
        }
      }),
      { numRuns: process.env["SMART_GATEWAY_LONG_TESTS"] === "1" ? 500 : 60 },
    );
  });
});
