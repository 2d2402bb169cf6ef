import { describe, expect, test } from "bun:test";
import { Policy } from "#config/policy.ts";
import { openSqlite } from "#db/sqlite.ts";
import { sqliteDatabase } from "#db/store-database.ts";
import type { ModelKey } from "#domain/model.ts";
import { manualTime } from "#platform/testing/manual-time.ts";
import { ann, bad, flash, minute, modelWith, ok, pro, registryWith, second } from "./fixtures.ts";
import type { Verdict } from "./health.ts";
import { HealthSync } from "./health-sync.ts";
import { ProcessHealthRegistry } from "./registry.ts";
import { type HealthStore, sqlHealthStore } from "./store/health-store.ts";

const models = registryWith(modelWith(flash, "worker"), modelWith(pro, "senior"));
const rules = Policy.parse({}).health;

/** A memory store that can become unavailable; its rows outlive the nodes. */
function sharedStore() {
  const inner = sqlHealthStore(sqliteDatabase(openSqlite(":memory:")));
  const state = { unavailable: false };
  const gate =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (state.unavailable) throw new Error("connection refused");
      return call(...args);
    };
  const store: HealthStore = {
    load: gate(inner.load),
    save: gate(inner.save),
    override: gate(inner.override),
    close: async () => {},
  };
  return { store, state };
}

function nodeOn(store: HealthStore, time = manualTime(), nodeId = "node-a") {
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
    onStore: (state, problem) => events.push(problem === undefined ? state : `${state}: ${problem}`),
  });
  const report = (key: ModelKey, verdict: Verdict, times = 1) => {
    for (let i = 0; i < times; i++) registry.admit(key, ann)?.report(verdict);
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
  test("each judges by its own traffic, and restarts with what was written last; operators speak to all", async () => {
    const { store } = sharedStore();
    const time = manualTime();
    const nodes = await Promise.all(["a", "b", "c"].map((id) => startedOn(store, time, id)));
    const states = () => nodes.map((node) => node.state(flash));
    nodes[0]?.report(flash, bad, 5);
    nodes[1]?.report(pro, { kind: "limited", retryAfterMs: minute });
    nodes[2]?.report(flash, ok, 5);
    await time.advanceAsync(5 * second);
    expect(states()).toEqual(["UNHEALTHY", "HEALTHY", "HEALTHY"]);
    expect(nodes.map(({ registry }) => registry.view()[pro]?.routable)).toEqual([true, false, true]);
    const later = await startedOn(store, time, "d");
    expect(later.registry.view()).toMatchObject({ [flash]: { state: "UNHEALTHY" }, [pro]: { routable: false } });
    await store.override({ model: flash, action: "disable", atMs: time.clock.now(), by: "ada" });
    await time.advanceAsync(second);
    expect(states()).toEqual(["DISABLED", "DISABLED", "DISABLED"]);
  });

  test("a node that finds the store late keeps what it has seen itself", async () => {
    const { store, state } = sharedStore();
    const before = await startedOn(store);
    before.report(pro, bad, 5);
    await before.sync.close();
    state.unavailable = true;
    const node = nodeOn(store, before.time, "late");
    const starting = node.sync.start();
    await node.time.advanceAsync(second);
    await starting;
    node.report(flash, bad, 5);
    state.unavailable = false;
    await node.time.advanceAsync(2 * second);
    expect([node.state(flash), node.state(pro)]).toEqual(["UNHEALTHY", "UNHEALTHY"]);
  });
});
