import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { nanoUsd } from "#domain/money/money.ts";
import { Level, levels, RoutingDecision, RoutingTask, RuntimeState, taskKinds } from "#domain/routing.ts";
import { healthStates } from "#health/health.ts";
import { decide } from "./decide.ts";
import {
  aModel,
  aPolicy,
  aPrice,
  aRegistry,
  aSnapshot,
  emergencyModel,
  scoutModel,
  seniorModel,
  workerModel,
} from "./fixtures.ts";
import { scoreOf } from "./rules/score.ts";
import type { Snapshot } from "./snapshot.ts";

/** Caller's words that must never be in the output; long enough not to occur by chance. */
const callersWords = "Zx9-private words";

const share = fc.double({ min: 0, max: 1, noNaN: true });
const count = fc.oneof(fc.nat(40), fc.maxSafeNat());
const level = fc.constantFrom(...levels);
const metadata = fc.record(
  {
    routing: fc.oneof(fc.constantFrom("auto", "pro", "flash", "free"), fc.constant(callersWords), fc.jsonValue()),
    scout: fc.oneof(fc.boolean(), fc.constant(callersWords)),
    pro: fc.oneof(fc.boolean(), fc.constant(callersWords)),
    other: fc.jsonValue(),
  },
  { requiredKeys: [] },
);

const tasks = fc
  .record(
    {
      task_id: fc.constant(callersWords),
      goal_id: fc.constant(callersWords),
      instruction: fc.constant(callersWords),
      kind: fc.constantFrom(...taskKinds),
      explicit_route: fc.constantFrom("AUTO" as const, "PRO" as const, "FLASH" as const, "FREE_SCOUT" as const),
      reasoning: fc.constantFrom("AUTO" as const, "HIGH" as const),
      sensitive: fc.boolean(),
      repo_context_present: fc.boolean(),
      repo_free_opt_in: fc.boolean(),
      risk_level: level,
      blast_radius: level,
      reasoning_requirement: share,
      ambiguity: share,
      dependency_depth: share,
      verification_difficulty: share,
      estimated_tool_depth: count,
      metadata,
    },
    { requiredKeys: ["task_id", "goal_id", "instruction"] },
  )
  .map((task) => RoutingTask.parse(task));

const quietRuntimes = fc.record(
  {
    attempts: fc.nat(7),
    flash_attempts: fc.nat(3),
    same_error_count: fc.nat(3),
    tests_failed: fc.nat(30),
    files_touched: fc.nat(30),
    tool_depth: fc.nat(20),
    failure_class: fc.constantFrom("NONE" as const, "LOCAL" as const, "STRUCTURAL" as const),
  },
  { requiredKeys: [] },
);
const runtimes = fc
  .record(
    {
      attempts: count,
      flash_attempts: count,
      same_error_count: count,
      error_signature: fc.constantFrom(null, callersWords),
      tests_failed: count,
      files_touched: count,
      tool_depth: count,
      failure_class: fc.constantFrom("NONE" as const, "LOCAL" as const, "STRUCTURAL" as const),
      last_model: fc.constantFrom(null, callersWords),
    },
    { requiredKeys: [] },
  )
  .map((runtime) => RuntimeState.parse(runtime));

const keys = [scoutModel.key, workerModel.key, seniorModel.key, emergencyModel.key, "spare_model"] as const;
const healths = fc
  .dictionary(
    fc.constantFrom(...keys),
    fc.record({
      state: fc.constantFrom(...healthStates),
      routable: fc.boolean(),
      sinceMs: fc.nat(),
      reason: fc.string(),
    }),
  )
  .map((health): Snapshot["health"] => health);

const amount = fc.oneof(fc.constant(0), fc.nat(6_000_000_000), fc.maxSafeNat()).map(nanoUsd);
const account = fc.record({ spent: amount, held: amount });
const spends = fc.record({ goal: account, day: account });
const sizes = fc
  .record({
    inputTokensBound: fc.oneof(fc.nat(100_000), fc.maxSafeNat()),
    inputTokensEstimate: fc.oneof(fc.nat(20_000), fc.maxSafeNat()),
    requestedOutputTokens: fc.option(fc.oneof(fc.nat(100_000), fc.maxSafeNat())),
    choices: fc.integer({ min: 1, max: 128 }),
  })
  .map((size): Snapshot["size"] => size);

/** Any registry: roles missing, doubled, disabled, or unexpectedly free. */
const registries = fc
  .uniqueArray(
    fc
      .record({
        key: fc.constantFrom(...keys),
        role: fc.constantFrom("scout" as const, "worker" as const, "senior" as const, "emergency" as const),
        free: fc.boolean(),
        enabled: fc.boolean(),
        contextTokens: fc.constantFrom(1, 8_192, 1_000_000),
        dollarsPerMTok: fc.integer({ min: 0, max: 100_000 }),
      })
      .map(({ dollarsPerMTok, ...model }) => aModel({ ...model, price: aPrice(dollarsPerMTok, dollarsPerMTok) })),
    { selector: (model) => model.key },
  )
  .map(aRegistry);

const thresholds = fc.tuple(fc.nat(100), fc.nat(100)).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
const policies = fc
  .record({
    thresholds,
    weight: fc.nat(100),
    bias: fc.integer({ min: -50, max: 50 }),
    trigger: fc.integer({ min: 1, max: 20 }),
    chain: fc.array(fc.constantFrom(...keys, "unknown_model"), { minLength: 1, maxLength: 6 }),
  })
  .map(({ thresholds: [flash_below, pro_from], weight, bias, trigger, chain }) =>
    aPolicy({
      routing: {
        flash_below,
        pro_from,
        weights: { ambiguity: weight, risk_level: weight },
        kind_bias: { CODING: bias, OTHER: bias },
      },
      hard_rules: { files_touched: trigger, tool_depth: trigger },
      health: { senior_fallback_chain: chain },
    }),
  );
const caps = fc
  .record({ goalSoft: amount, goalHard: amount, daySoft: amount, dayHard: amount })
  .map((given): Snapshot["caps"] => given);
const verdicts = fc.constantFrom(undefined, "flash" as const, "pro" as const, "none" as const);
const snapshots = fc
  .record({
    policy: policies,
    registry: registries,
    health: healths,
    spend: spends,
    size: sizes,
    caps,
    verdict: verdicts,
  })
  .map(({ verdict, ...given }): Snapshot => ({ ...given, ...(verdict === undefined ? {} : { verdict }) }));

describe("for any task, any runtime and any snapshot", () => {
  test("there is a decision, valid, consistent in itself, and the same each time", () => {
    fc.assert(
      fc.property(tasks, runtimes, snapshots, (task, runtime, snapshot) => {
        const decision = decide(task, runtime, snapshot);
        expect(RoutingDecision.parse(decision)).toEqual(decision);
        expect(decide(task, runtime, snapshot)).toEqual(decision);
        expect(decision.model === null).toBe(decision.action === "DENY" || decision.action === "STOP_FOR_HUMAN");
        expect(decision.purpose).toBe(
          decision.action === "ROUTE" ? "EXECUTE" : decision.action === "SCOUT" ? "SCOUT" : "NONE",
        );
        expect(decision.hard_rule).toBe(decision.cause === "hard_pro_rule");
      }),
      { numRuns: 1_000 },
    );
  });

  test("a sensitive task is never sent to a free model, whatever else it states", () => {
    fc.assert(
      fc.property(tasks, runtimes, snapshots, (task, runtime, snapshot) => {
        const { model, action } = decide({ ...task, sensitive: true }, runtime, snapshot);
        expect(action).not.toBe("SCOUT");
        if (model === null) return;
        const chosen = snapshot.registry.models.get(model);
        expect(chosen).toMatchObject({ free: false, enabled: true });
        expect(chosen?.role).not.toBe("scout");
      }),
      { numRuns: 1_000 },
    );
  });

  test("no model is selected whose cost exceeds a hard cap", () => {
    fc.assert(
      fc.property(tasks, runtimes, snapshots, (task, runtime, snapshot) => {
        const { model, action } = decide(task, runtime, snapshot);
        if (action !== "ROUTE" || model === null) return;
        const { price, maxOutputTokens = 0 } = snapshot.registry.models.get(model) ?? {};
        const { size, spend, caps: limits } = snapshot;
        const output = Math.min(size.requestedOutputTokens ?? 32_768, maxOutputTokens);
        const nano = ((price?.input ?? 0) * size.inputTokensBound + (price?.output ?? 0) * output * size.choices) / 1e6;
        expect(spend.goal.spent + spend.goal.held + nano).toBeLessThanOrEqual(limits.goalHard);
        expect(spend.day.spent + spend.day.held + nano).toBeLessThanOrEqual(limits.dayHard);
      }),
      { numRuns: 1_000 },
    );
  });

  test("evidence is key=value and never repeats the caller's words", () => {
    fc.assert(
      fc.property(tasks, runtimes, snapshots, (task, runtime, snapshot) => {
        const { task_id, ...decision } = decide(task, runtime, snapshot);
        expect(task_id).toBe(callersWords);
        expect(JSON.stringify(decision)).not.toContain(callersWords);
        for (const entry of decision.evidence) expect(entry).toMatch(/^[a-z][a-z0-9_]*=[A-Za-z0-9_.+-]{1,64}$/);
      }),
      { numRuns: 1_000 },
    );
  });
});

const dimensionNames = ["reasoning_requirement", "ambiguity", "dependency_depth", "verification_difficulty"] as const;

/** A task, and the same task with one of its features raised by any amount. */
const raises = fc
  .tuple(tasks, fc.constantFrom("risk_level" as const, "blast_radius" as const, ...dimensionNames), share)
  .map(([task, feature, part]): { task: RoutingTask; raised: RoutingTask } => {
    if (feature === "risk_level" || feature === "blast_radius") {
      const at = levels.indexOf(task[feature]);
      const to = levels[at + Math.round(part * (levels.length - 1 - at))];
      return { task, raised: { ...task, [feature]: Level.parse(to) } };
    }
    return { task, raised: { ...task, [feature]: Math.min(1, task[feature] + part * (1 - task[feature])) } };
  });

/** The scout is below the worker, the worker below the senior model; a refusal is not a cheaper model, so it is above all. */
function tierOf({ action, model }: RoutingDecision, { registry }: Snapshot): number {
  expect(action).not.toBe("SCOUT");
  const role = model === null ? undefined : registry.models.get(model)?.role;
  return role === "scout" ? 0 : role === "worker" ? 1 : role === undefined ? 3 : 2;
}

const scales = fc.constantFrom("declared" as const, "chat" as const, "agent" as const);

describe("raising the risk, the blast radius or a dimension", () => {
  test("never lowers the score", () => {
    fc.assert(
      fc.property(raises, runtimes, policies, scales, ({ task, raised }, runtime, policy, scale) => {
        const score = (it: RoutingTask) => scoreOf(it, runtime, policy, [], scale);
        expect(score(raised)).toBeGreaterThanOrEqual(score(task));
        expect(score(task)).toBeGreaterThanOrEqual(0);
        expect(score(raised)).toBeLessThanOrEqual(100);
      }),
      { numRuns: 1_000 },
    );
  });

  test("never selects a cheaper tier, whatever the scout's verdict, health and remaining money", () => {
    // The scout's verdict is fixed, so that the executing models are compared.
    const answered = fc.constantFrom("flash" as const, "pro" as const, "none" as const);
    const spent = fc.record({ goal: fc.nat(6_000), day: fc.nat(60_000) }).map(({ goal, day }) => ({
      goal: { spent: nanoUsd(goal * 1_000_000), held: nanoUsd(0) },
      day: { spent: nanoUsd(day * 1_000_000), held: nanoUsd(0) },
    }));
    fc.assert(
      fc.property(
        raises,
        quietRuntimes,
        healths,
        answered,
        spent,
        ({ task, raised }, given, health, verdict, spend) => {
          const runtime = RuntimeState.parse(given);
          const snapshot = aSnapshot({ health, verdict, spend });
          const before = tierOf(decide(task, runtime, snapshot), snapshot);
          expect(tierOf(decide(raised, runtime, snapshot), snapshot)).toBeGreaterThanOrEqual(before);
        },
      ),
      { numRuns: 3_000 },
    );
  });
});
