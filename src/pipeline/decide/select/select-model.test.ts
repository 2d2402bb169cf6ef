import { describe, expect, test } from "bun:test";
import type { RoutingTask } from "#domain/routing.ts";
import type { HealthState } from "#health/health.ts";
import { decide } from "#pipeline/decide/decide.ts";
import {
  aHealth,
  aPolicy,
  aPrice,
  aRegistry,
  aRuntime,
  aSnapshot,
  aTask,
  dimensions,
  dollars,
  emergencyModel,
  scoutModel,
  seniorModel,
  workerModel,
} from "#pipeline/decide/fixtures.ts";
import type { Snapshot } from "#pipeline/decide/snapshot.ts";
import { fallbacksFor } from "./select-model.ts";

const decided = (task: Partial<RoutingTask>, snapshot: Snapshot) => decide(aTask(task), aRuntime(), snapshot);
const down = (...keys: string[]) => aHealth(Object.fromEntries(keys.map((key) => [key, "UNHEALTHY" as HealthState])));
const flash = "vendor_v4_flash";
const pro = "vendor_v4_pro";
const emergency = "vendor_emergency";
const scout = "vendor_free_scout";

describe("an unroutable model", () => {
  const critical = { risk_level: "CRITICAL" } as const;
  const freely = { sensitive: false, explicit_route: "FREE_SCOUT" } as const;

  /** requested, excluded, answering (null: none) */
  test.each([
    ["flash", {}, [flash], pro],
    ["flash", {}, [flash, pro], emergency],
    ["flash", {}, [flash, pro, emergency], null],
    ["pro", { explicit_route: "PRO" }, [pro], flash],
    ["pro", { explicit_route: "PRO" }, [pro, flash], emergency],
    ["pro by a hard rule", critical, [pro], emergency],
    ["pro by a hard rule", critical, [pro, emergency], null],
    ["free", freely, [scout], pro],
    ["free", freely, [scout, pro], flash],
    ["flash, though others are down", {}, [pro, emergency, scout], flash],
  ] as const)("%s (%o, down: %j) is answered by %p", (_, task, unwell, answers) => {
    const before = decided(task, aSnapshot());
    const decision = decided(task, aSnapshot({ health: down(...unwell) }));
    if (answers === null) {
      expect(decision).toMatchObject({ action: "STOP_FOR_HUMAN", model: null, cause: "all_models_unhealthy" });
    } else {
      expect(decision).toMatchObject({ action: "ROUTE", purpose: "EXECUTE", model: answers, cause: before.cause });
    }
  });

  test("if there is no fallback, the evidence has the state of each candidate", () => {
    const { evidence } = decided({}, aSnapshot({ health: aHealth({ [flash]: "STALE", [pro]: "QUARANTINE" }) }));
    expect(evidence.join()).not.toContain("health_");
    const stopped = decided(
      {},
      aSnapshot({ health: aHealth({ [flash]: "UNHEALTHY", [pro]: "QUARANTINE", [emergency]: "DISABLED" }) }),
    );
    expect(stopped.evidence).toContain(`health_${pro}=QUARANTINE`);
    expect(stopped.evidence).toContain(`health_${emergency}=DISABLED`);
  });

  test("includes one of a role without an enabled model", () => {
    const without = aRegistry([scoutModel, { ...workerModel, enabled: false }, seniorModel, emergencyModel]);
    const decision = decided({}, aSnapshot({ registry: without }));
    expect(decision).toMatchObject({ action: "ROUTE", model: pro, cause: "score_flash" });
    expect(decision.evidence).toContain("role_without_model=worker");
    expect(decided({}, aSnapshot({ registry: aRegistry([]) })).cause).toBe("all_models_unhealthy");
  });
});

test("a free model that was asked for has no paid fallback where the policy says so; a sensitive request still has", () => {
  const policy = aPolicy({ health: { free_fallback: "none" } });
  const freely = { sensitive: false, explicit_route: "FREE_SCOUT" } as const;
  expect(decided(freely, aSnapshot({ policy, health: down(scout) }))).toMatchObject({
    action: "STOP_FOR_HUMAN",
    cause: "all_models_unhealthy",
  });
  expect(fallbacksFor(scout, false, aSnapshot({ policy }))).toEqual([]);
  const registry = aRegistry([scoutModel, { ...workerModel, free: true }, seniorModel, emergencyModel]);
  expect(decided({}, aSnapshot({ policy, registry })).model).toBe(pro);
});

describe("the chain", () => {
  const chained = (...chain: string[]) => aPolicy({ health: { senior_fallback_chain: chain } });

  test("is the policy's, in its order", () => {
    const policy = chained(emergency, pro, flash);
    expect(decided({}, aSnapshot({ policy, health: down(flash) })).model).toBe(emergency);
  });

  test("never offers a free model, a disabled one, or one that is not in the registry", () => {
    const registry = aRegistry([scoutModel, workerModel, seniorModel, { ...emergencyModel, enabled: false }]);
    const policy = chained("gone_model", scout, emergency, pro);
    expect(decided({ sensitive: false }, aSnapshot({ policy, registry, health: down(flash) })).model).toBe(pro);
    expect(decided({ sensitive: false }, aSnapshot({ policy, registry, health: down(flash, pro) })).cause).toBe(
      "all_models_unhealthy",
    );
  });

  test("skips a fallback that the hard cap does not allow, and denies if it allows none", () => {
    const policy = chained(pro, emergency);
    const health = down(flash);
    const room = (usd: number) =>
      aSnapshot({ policy, health, spend: { day: { spent: dollars(50 - usd), held: dollars(0) } } });
    // Holds: flash 0.0092, pro 0.0287, emergency 0.0394.
    const cheapEmergency = aRegistry([
      scoutModel,
      workerModel,
      seniorModel,
      { ...emergencyModel, price: aPrice(0.1, 0.5) },
    ]);
    expect(decided({}, { ...room(0.02), registry: cheapEmergency }).model).toBe(emergency);
    expect(decided({}, room(0.03)).model).toBe(pro);
    const denied = decided({}, room(0.02));
    expect(denied).toMatchObject({ action: "DENY", model: null, cause: "budget_hard_cap_exceeded" });
    expect(denied.evidence).toContain(`over_budget=${pro}`);
  });
});

describe("a scout", () => {
  test("is not asked if no model could answer afterwards", () => {
    const snapshot = aSnapshot({ health: down(flash, pro, emergency) });
    expect(decided({ sensitive: false, ...dimensions(0.5) }, snapshot)).toMatchObject({
      action: "STOP_FOR_HUMAN",
      model: null,
      cause: "all_models_unhealthy",
    });
  });
});

describe("a context window", () => {
  const roomyPro = aRegistry([scoutModel, workerModel, { ...seniorModel, contextTokens: 1_000_000 }, emergencyModel]);
  const size = (inputTokensEstimate: number) => ({ inputTokensEstimate, inputTokensBound: inputTokensEstimate * 4 });

  test("that equals the estimate is large enough; one token more goes to a model with a larger one", () => {
    const at = (tokens: number) => decided({}, aSnapshot({ registry: roomyPro, size: size(tokens) }));
    expect(at(131_072).model).toBe(flash);
    expect(at(131_073)).toMatchObject({ model: pro, cause: "score_flash" });
    expect(at(131_073).evidence).toContain("replaced_because=context_window");
  });

  test("that is too small for all models does not change the choice: the upstream decides", () => {
    expect(decided({}, aSnapshot({ size: size(500_000) })).model).toBe(flash);
    expect(decided({}, aSnapshot({ size: size(500_000), health: down(flash) })).model).toBe(pro);
  });
});
