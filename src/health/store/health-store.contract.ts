import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Policy } from "#config/policy.ts";
import { type Health, type HealthEvent, initialHealth } from "#health/state-machine/model-health.ts";
import { next } from "#health/state-machine/transitions.ts";
import { type HealthStore, type StoredModelHealth, toStored } from "./health-store.ts";

/** The requirements on every adapter of the health store. `open` returns an empty store. */
export function healthStoreContract(name: string, open: () => Promise<HealthStore>): void {
  describe(`${name}: a health store`, () => {
    let store: HealthStore;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());
    const row = (health: StoredModelHealth, model = "flash") => ({
      model,
      health,
      updatedMs: 1_000,
      updatedBy: "node-a",
    });

    test("is empty at first", async () => {
      expect(await store.load()).toEqual({ rows: [], overrides: [] });
    });

    test("returns every state as it was saved", async () => {
      const all = states().map((health, i) => row(health, `m${i}`));
      await store.save(all);
      const { rows } = await store.load();
      expect(rows.toSorted((a, b) => a.model.localeCompare(b.model))).toEqual(all);
    });

    test("keeps what was saved last, whoever saves at the same time", async () => {
      const [healthy = null, degraded = null] = states().map((health) => row(health));
      if (healthy === null || degraded === null) throw new Error("no states");
      await Promise.all(Array.from({ length: 8 }, () => store.save([healthy, row(degraded.health, "pro")])));
      await store.save([{ ...degraded, updatedBy: "node-b" }]);
      const { rows } = await store.load();
      expect(rows.find(({ model }) => model === "flash")).toEqual({ ...degraded, updatedBy: "node-b" });
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
  });
}

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
