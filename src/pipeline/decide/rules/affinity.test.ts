import { describe, expect, test } from "bun:test";
import type { Model } from "#domain/model.ts";
import type { NanoUsdPerMTok } from "#domain/money/money.ts";
import { decide } from "#pipeline/decide/decide.ts";
import {
  aHealth,
  aPolicy,
  aRegistry,
  aRuntime,
  aSnapshot,
  aTask,
  dimensions,
  dollars,
  scoutModel,
  seniorModel,
  workerModel,
} from "#pipeline/decide/fixtures.ts";
import type { Snapshot } from "#pipeline/decide/snapshot.ts";

const flash = "vendor_v4_flash";
const pro = "vendor_v4_pro";
const hard = aTask(dimensions(1));
const easy = aTask();
const cachedAt = (model: Model, usd: number): Model => ({
  ...model,
  contextTokens: 1_000_000,
  price: { ...model.price, cachedInput: dollars(usd) as number as NanoUsdPerMTok },
});
const registry = aRegistry([scoutModel, cachedAt(workerModel, 0.0028), cachedAt(seniorModel, 0.003625)]);
const after = (model: string, continuation: boolean, more: Parameters<typeof aSnapshot>[0] = {}): Snapshot =>
  aSnapshot({ registry, ...more, affinity: { model, continuation } });
const context = (inputTokensEstimate: number) => ({ size: { inputTokensEstimate, inputTokensBound: 2_000_000 } });

describe("a continuation", () => {
  test("stays on the model of its ask, whatever its score is now", () => {
    expect(decide(hard, aRuntime(), after(flash, true))).toMatchObject({ cause: "affinity", model: flash });
    expect(decide(easy, aRuntime(), after(pro, true))).toMatchObject({ cause: "affinity", model: pro });
    expect(decide(easy, aRuntime(), after(pro, true)).evidence).toContain(`affinity=${pro}`);
  });

  test("is escalated by a hard rule, and follows the caller's requests", () => {
    const { cause } = decide(easy, aRuntime({ same_error_count: 2 }), after(flash, true));
    expect(cause).toBe("hard_pro_rule");
    expect(decide(aTask({ explicit_route: "FLASH" }), aRuntime(), after(pro, true)).cause).toBe("explicit_flash");
    expect(decide(aTask({ metadata: { routing: "pro" } }), aRuntime(), after(flash, true)).cause).toBe("hint_pro");
  });

  test("is escalated through its score when its model writes too much prose, and stays on pro", () => {
    const decided = (prose: number, model = flash, more: Parameters<typeof aSnapshot>[0] = {}) =>
      decide(easy, aRuntime(), { ...after(model, true, more), prose });
    expect(decided(20_000)).toMatchObject({ cause: "score_flash", model: flash });
    const escalated = decided(20_001);
    expect(escalated).toMatchObject({ cause: "score_pro", model: pro, hard_rule: false, score: 97 });
    expect(escalated.evidence).toContain("prose=20001");
    expect(decided(20_001, pro)).toMatchObject({ cause: "score_pro", model: pro });
    const never = { policy: aPolicy({ routing: { run_prose_chars: 0 } }) };
    expect(decided(1e6, flash, never)).toMatchObject({ cause: "score_flash", model: flash });
    expect(decide(aTask({ explicit_route: "FLASH" }), aRuntime(), { ...after(flash, true), prose: 1e6 }).cause).toBe(
      "explicit_flash",
    );
  });

  test("does not ask a scout again", () => {
    const gray = aTask({ ...dimensions(0.7), sensitive: false });
    expect(decide(gray, aRuntime(), after(flash, true))).toMatchObject({
      action: "ROUTE",
      cause: "affinity",
      model: flash,
    });
  });

  test("is decided again if its model is not routable or has left the registry", () => {
    expect(decide(easy, aRuntime(), after(pro, true, { health: aHealth({ [pro]: "UNHEALTHY" }) })).cause).toBe(
      "score_flash",
    );
    expect(decide(easy, aRuntime(), after("gone", true)).cause).toBe("score_flash");
    expect(decide(easy, aRuntime(), after("vendor_free_scout", true)).cause).toBe("score_flash");
  });

  test("is downgraded at the soft cap like any optional pro request", () => {
    const snapshot = after(pro, true, { spend: { goal: { spent: dollars(2), held: dollars(0) } } });
    expect(decide(easy, aRuntime(), snapshot)).toMatchObject({ cause: "budget_soft_cap", model: flash });
  });
});

describe("a new ask", () => {
  test("goes to pro if its score says so", () => {
    expect(decide(hard, aRuntime(), after(flash, false))).toMatchObject({ cause: "score_pro", model: pro });
  });

  test("goes to flash if the remaining turns save more than reading the context without a cache costs", () => {
    const { cause, model, evidence } = decide(easy, aRuntime(), after(pro, false, context(20_000)));
    expect({ cause, model }).toEqual({ cause: "score_flash", model: flash });
    // 20,000 × (0.14 − 0.0028) USD per million against 12 × (20,000 × 0.000825 + 2,210 × 0.295 + 250 × 0.59).
    expect(evidence).toContain("switch_cost_usd=0.002744");
    expect(evidence).toContain("switch_saves_usd=0.009791");
    expect(evidence).toContain("horizon_turns=12");
  });

  test("stays on the more expensive model that has a long context cached", () => {
    const { cause, model, evidence } = decide(easy, aRuntime(), after(pro, false, context(200_000)));
    expect({ cause, model }).toEqual({ cause: "affinity", model: pro });
    expect(evidence).toContain("switch_cost_usd=0.027440");
  });
});
