import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Policy } from "#config/policy.ts";
import { type Health, type HealthEvent, initialHealth } from "#health/state-machine/model-health.ts";
import { next } from "#health/state-machine/transitions.ts";
import { type HealthStore, type StoredModelHealth, sampleRetentionMs, toStored } from "./health-store.ts";

/** The requirements on every adapter of the health store. `open` returns an empty store. */
export function healthStoreContract(name: string, open: () => Promise<HealthStore>): void {
  describe(`${name}: a health store`, () => {
    let store: HealthStore;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());
    const change = (basedOn: number | undefined, health: StoredModelHealth = healthy, model = "flash") => ({
      model,
      basedOn,
      health,
      updatedMs: 1_000,
      updatedBy: "node-a",
    });
    const epochs = async () => (await store.load()).rows.map(({ model, epoch }) => [model, epoch]);

    test("is empty at first", async () => {
      expect(await store.load()).toEqual({ rows: [], overrides: [], samples: [] });
    });

    test("returns every state as it was saved", async () => {
      const all = states();
      expect(await store.save(all.map((health, i) => change(undefined, health, `m${i}`)))).toEqual(
        all.map((_, i) => `m${i}`),
      );
      const { rows } = await store.load();
      const sorted = rows.toSorted((a, b) => a.model.localeCompare(b.model));
      expect(sorted.map(({ health }) => health as StoredModelHealth)).toEqual(all);
      expect(sorted[0]).toMatchObject({ model: "m0", epoch: 1, updatedMs: 1_000, updatedBy: "node-a" });
    });

    test("writes only over the epoch that the writer has read", async () => {
      expect(await store.save([change(undefined)])).toEqual(["flash"]);
      expect(await store.save([change(undefined)])).toEqual([]);
      expect(await store.save([change(1)])).toEqual(["flash"]);
      expect(await store.save([change(1)])).toEqual([]);
      expect(await store.save([change(3)])).toEqual([]);
      expect(await epochs()).toEqual([["flash", 2]]);
    });

    test("lets one of two concurrent writers over the same epoch win", async () => {
      await store.save([change(undefined)]);
      const written = await Promise.all(Array.from({ length: 8 }, () => store.save([change(1)])));
      expect(written.flat()).toEqual(["flash"]);
      expect(await epochs()).toEqual([["flash", 2]]);
    });

    test("writes the valid rows of a batch", async () => {
      await store.save([change(undefined, healthy, "a")]);
      expect(await store.save([change(undefined, healthy, "a"), change(undefined, healthy, "b")])).toEqual(["b"]);
    });

    test("keeps the operator's settings; each part stays until it is set again", async () => {
      const setOverride = (action: "disable" | "enable" | "reset", atMs: number) =>
        store.override({ model: "flash", action, atMs, by: "ada" });
      const overrides = async () => (await store.load()).overrides;
      await setOverride("reset", 10);
      const base = { model: "flash", changedBy: "ada" };
      expect(await overrides()).toEqual([{ ...base, disabled: false, resetMs: 10, changedMs: 10 }]);
      await setOverride("disable", 20);
      expect(await overrides()).toEqual([{ ...base, disabled: true, resetMs: 10, changedMs: 20 }]);
      await setOverride("reset", 30);
      expect(await overrides()).toEqual([{ ...base, disabled: true, resetMs: 30, changedMs: 30 }]);
      await setOverride("enable", 40);
      expect(await overrides()).toEqual([{ ...base, disabled: false, resetMs: 30, changedMs: 40 }]);
    });

    test("keeps the newest sample of each node and model, and deletes those of silent nodes", async () => {
      const sample = (nodeId: string, atMs: number, excluded = false) => ({
        nodeId,
        model: "flash",
        atMs,
        answers: 12,
        failures: 3,
        excluded,
      });
      await store.saveSamples([sample("a", 1_000), sample("b", 2_000)]);
      await store.saveSamples([sample("a", 3_000, true)]);
      const seen = (await store.load()).samples.toSorted((x, y) => x.nodeId.localeCompare(y.nodeId));
      expect(seen).toEqual([sample("a", 3_000, true), sample("b", 2_000)]);
      await store.saveSamples([sample("a", 2_001 + sampleRetentionMs)]);
      expect((await store.load()).samples.map(({ nodeId }) => nodeId)).toEqual(["a"]);
    });
  });
}

const healthy = toStored(initialHealth(500));

/** One health of each state, made by the transition table. */
function states(): StoredModelHealth[] {
  const rules = Policy.parse({}).health;
  const after = (...events: readonly (HealthEvent | number)[]): StoredModelHealth => {
    let ms = 1_000;
    let health: Health = initialHealth(ms);
    for (const event of events) {
      if (typeof event === "number") ms += event;
      else {
        const said = "epoch" in event ? { ...event, epoch: health.epoch } : event;
        health = next(health, said, { ms, jitter: 0.5, rules });
      }
    }
    return toStored(health);
  };
  const fail = { kind: "failed", as: "failure", epoch: 0, reason: "timed_out" } as const;
  const trip = [fail, fail, fail, fail, fail];
  return [
    after(),
    after(fail, fail, fail),
    after(...trip),
    after(...trip, 15_000, { kind: "wanted" }),
    after({ kind: "disabled", reason: "disabled by the operator" }),
    after(900_000, { kind: "time_passed" }),
    after({ kind: "price_breached", epoch: 0 }, { kind: "limited", untilMs: 5_000 }),
  ];
}
