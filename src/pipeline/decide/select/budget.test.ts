import { describe, expect, test } from "bun:test";
import { nanoUsd } from "#domain/money/money.ts";
import type { RoutingTask } from "#domain/routing.ts";
import { decide } from "#pipeline/decide/decide.ts";
import {
  aModel,
  aPrice,
  aRuntime,
  aSnapshot,
  aTask,
  dimensions,
  dollars,
  seniorModel,
  workerModel,
} from "#pipeline/decide/fixtures.ts";
import type { Snapshot, SpendView } from "#pipeline/decide/snapshot.ts";
import type { RequestSize } from "#pipeline/request-size.ts";
import { estimateOf, holdOf, outputBoundOf } from "./budget.ts";

const size: RequestSize = {
  inputTokensBound: 1_000,
  inputTokensEstimate: 250,
  requestedOutputTokens: null,
  choices: 1,
};

describe("the output bound", () => {
  const small = { ...workerModel, maxOutputTokens: 8_192 };
  test.each([
    ["the model's default if the caller sets none", workerModel, {}, 32_768],
    ["never above the model's maximum", small, {}, 8_192],
    ["the caller's own number, which is sent unchanged", workerModel, { requestedOutputTokens: 10 }, 10],
    ["even 0", workerModel, { requestedOutputTokens: 0 }, 0],
    ["but never above the model's maximum", small, { requestedOutputTokens: 1_000_000 }, 8_192],
    [
      "a smaller reasoning budget is part of it",
      workerModel,
      { requestedOutputTokens: 1_000, reasoningTokens: 999 },
      1_000,
    ],
    ["one as large is added", workerModel, { requestedOutputTokens: 1_000, reasoningTokens: 1_000 }, 2_000],
    ["one larger than the default is added, up to the maximum", workerModel, { reasoningTokens: 40_000 }, 65_536],
    ["the largest of two limits", workerModel, { requestedOutputTokens: 10, otherOutputTokens: 500 }, 500],
    ["another limit below the default", workerModel, { otherOutputTokens: 500 }, 32_768],
    ["another limit above the default", workerModel, { otherOutputTokens: 50_000 }, 50_000],
  ])("is %s", (_, model, given, bound) => {
    expect(outputBoundOf(model, { ...size, ...given })).toBe(bound);
  });
});

describe("what a request costs", () => {
  test("includes the tokens of a prediction, as output, for each choice", () => {
    const bounded = { ...size, requestedOutputTokens: 10, choices: 2 };
    const plain = holdOf(workerModel, bounded);
    const predicted = holdOf(workerModel, { ...bounded, predictedTokens: 9_000 });
    expect(predicted - plain).toBe((2 * 9_000 * workerModel.price.output) / 1_000_000);
  });

  test("includes the surcharge of forwarded fields, and is above any cap if that is absurd", () => {
    const surcharge = { fee: dollars(0.02), factor: 3, fields: ["plugins"] };
    expect(holdOf(workerModel, { ...size, surcharge })).toBe(nanoUsd(3 * holdOf(workerModel, size) + 20_000_000));
    const absurd = { ...surcharge, factor: 1e12 };
    expect(holdOf(workerModel, { ...size, surcharge: absurd })).toBe(nanoUsd(Number.MAX_SAFE_INTEGER));
  });

  const model = aModel({ key: "m", role: "worker", price: aPrice(1, 2) });

  test("is above every cap for an absurd request, without an error", () => {
    const absurd = { ...size, requestedOutputTokens: Number.MAX_SAFE_INTEGER, choices: 1_000_000_000 };
    expect(holdOf(model, absurd)).toBe(nanoUsd(Number.MAX_SAFE_INTEGER));
    expect(decide(aTask(), aRuntime(), aSnapshot({ size: absurd })).cause).toBe("budget_hard_cap_exceeded");
  });
});

const free = nanoUsd(0);
const spentOf = (account: "goal" | "day", spent: number, held: number): Partial<SpendView> => ({
  [account]: { spent: nanoUsd(spent), held: nanoUsd(held) },
});
const decided = (task: Partial<RoutingTask>, snapshot: Snapshot) => decide(aTask(task), aRuntime(), snapshot);

describe.each([
  ["goal", dollars(2), dollars(5)],
  ["day", dollars(20), dollars(50)],
] as const)("the hard cap of the %s", (account, _, hard) => {
  const hold = holdOf(workerModel, aSnapshot().size);

  test("allows a request that fills it to the last nano-dollar, and denies one more", () => {
    const fits = aSnapshot({ spend: spentOf(account, hard - hold, 0) });
    expect(decided({}, fits)).toMatchObject({ action: "ROUTE", cause: "score_flash" });
    const over = aSnapshot({ spend: spentOf(account, hard - hold + 1, 0) });
    expect(decided({}, over)).toMatchObject({ action: "DENY", model: null, cause: "budget_hard_cap_exceeded" });
  });

  test("denies hard rules, forced pro, hints and scouts alike", () => {
    const snapshot = aSnapshot({ spend: spentOf(account, hard, 0) });
    const asks: Partial<RoutingTask>[] = [
      { risk_level: "CRITICAL" },
      { explicit_route: "PRO" },
      { reasoning: "HIGH" },
      { explicit_route: "FLASH" },
      { metadata: { routing: "pro" } },
      { sensitive: false, ...dimensions(0.5) },
      { sensitive: false, metadata: { scout: true } },
    ];
    for (const ask of asks)
      expect(decided(ask, snapshot)).toMatchObject({ action: "DENY", cause: "budget_hard_cap_exceeded" });
  });
});

describe.each([
  ["goal", dollars(2)],
  ["day", dollars(20)],
] as const)("the soft cap of the %s", (account, soft) => {
  const estimate = estimateOf(seniorModel, aSnapshot().size);
  const atCap = aSnapshot({ spend: spentOf(account, soft - estimate, 0) });
  const overCap = aSnapshot({ spend: spentOf(account, soft - estimate + 1, 0) });

  const discretionary: readonly (readonly [string, Partial<RoutingTask>, Partial<Snapshot>])[] = [
    ["reasoning: high", { reasoning: "HIGH" }, {}],
    ["a hint", { metadata: { routing: "pro" } }, {}],
    ["the gray zone's midpoint", dimensions(0.7), {}],
    ["the score", dimensions(1), {}],
    ["a scout's verdict", { sensitive: false, ...dimensions(0.7) }, { verdict: "pro" }],
    ["a requested scout's verdict", { sensitive: false, metadata: { scout: true } }, { verdict: "pro" }],
  ];

  test.each(discretionary)("moves a pro request from %s to flash, one nano-dollar above it", (_, task, more) => {
    expect(decided(task, { ...atCap, ...more }).model).toBe("vendor_v4_pro");
    const decision = decided(task, { ...overCap, ...more });
    expect(decision).toMatchObject({
      action: "ROUTE",
      model: "vendor_v4_flash",
      cause: "budget_soft_cap",
      confidence: 0.5,
    });
    expect(decision.evidence).toContain("stepped_down_from=vendor_v4_pro");
    expect(decision.evidence).toContain(`budget_cap=${account}_soft`);
  });

  test.each([
    ["a hard rule", { risk_level: "CRITICAL" }, "hard_pro_rule"],
    ["forced pro", { explicit_route: "PRO" }, "explicit_pro"],
  ] as const)("does not change %s", (_, task, cause) => {
    expect(decided(task, overCap)).toMatchObject({ action: "ROUTE", model: "vendor_v4_pro", cause });
  });

  test("does not change flash and free", () => {
    expect(decided({}, overCap)).toMatchObject({ model: "vendor_v4_flash", cause: "score_flash" });
    const freely: Partial<RoutingTask> = { sensitive: false, explicit_route: "FREE_SCOUT" };
    expect(decided(freely, overCap)).toMatchObject({ model: "vendor_free_scout", cause: "explicit_free" });
  });
});

describe("between the caps", () => {
  const caps = { goalSoft: dollars(0.02), goalHard: dollars(0.02), daySoft: dollars(9), dayHard: dollars(9) };

  test("pro is over budget and flash is not: optional pro requests go to flash, required ones are denied", () => {
    const snapshot = aSnapshot({ caps });
    expect(decided({ reasoning: "HIGH" }, snapshot)).toMatchObject({
      model: "vendor_v4_flash",
      cause: "budget_soft_cap",
    });
    expect(decided({ explicit_route: "PRO" }, snapshot)).toMatchObject({ cause: "budget_hard_cap_exceeded" });
    expect(decided({ risk_level: "CRITICAL" }, snapshot)).toMatchObject({
      cause: "budget_hard_cap_exceeded",
      hard_rule: false,
    });
  });

  test("a pro request under the soft cap by its estimate but over the hard cap by its bound goes to flash too", () => {
    const large = { inputTokensBound: 40_000, inputTokensEstimate: 10_000, requestedOutputTokens: 0 };
    // pro: estimate 0.00435, bound 0.0174; flash: bound 0.0056.
    const snapshot = aSnapshot({ size: large, caps: { ...caps, goalSoft: dollars(0.01), goalHard: dollars(0.01) } });
    const decision = decided(dimensions(1), snapshot);
    expect(decision).toMatchObject({ model: "vendor_v4_flash", cause: "budget_soft_cap" });
    expect(decision.evidence).toContain("budget_cap=goal_hard");
  });

  test("a request for which flash is over budget as well is denied", () => {
    const snapshot = aSnapshot({ caps: { ...caps, goalSoft: free, goalHard: nanoUsd(1) } });
    expect(decided({ reasoning: "HIGH" }, snapshot)).toMatchObject({
      action: "DENY",
      cause: "budget_hard_cap_exceeded",
    });
  });

  test("a scout is only asked if a model that it may choose could answer", () => {
    const gray: Partial<RoutingTask> = { sensitive: false, ...dimensions(0.5) };
    expect(decided(gray, aSnapshot({ caps })).action).toBe("SCOUT");
    expect(decided(gray, aSnapshot({ caps: { ...caps, goalHard: dollars(0.005) } }))).toMatchObject({
      action: "DENY",
      model: null,
      purpose: "NONE",
      cause: "budget_hard_cap_exceeded",
    });
  });
});
