import { describe, expect, test } from "bun:test";
import type { RoutingTask } from "#domain/routing.ts";
import { decide } from "#pipeline/decide/decide.ts";
import {
  aModel,
  aRegistry,
  aRuntime,
  aSnapshot,
  aTask,
  dimensions,
  emergencyModel,
  seniorModel,
} from "#pipeline/decide/fixtures.ts";

const decided = (task: Partial<RoutingTask>, snapshot = aSnapshot()) => decide(aTask(task), aRuntime(), snapshot);

describe("which tasks may go to a free model", () => {
  /** sensitive, repository context, opt-in → allowed */
  const table = [
    [true, false, false, false],
    [true, false, true, false],
    [true, true, false, false],
    [true, true, true, false],
    [false, false, false, true],
    [false, false, true, true],
    [false, true, false, false],
    [false, true, true, true],
  ] as const;

  test.each(table)(
    "sensitive %p, repository context %p, opt-in %p: allowed %p",
    (sensitive, present, optIn, allowed) => {
      const task = { sensitive, repo_context_present: present, repo_free_opt_in: optIn };
      expect(decided({ ...task, explicit_route: "FREE_SCOUT" })).toMatchObject(
        allowed
          ? { action: "ROUTE", model: "vendor_free_scout", cause: "explicit_free", sensitive_block_applied: false }
          : { action: "DENY", model: null, cause: "privacy_free_denied", sensitive_block_applied: true },
      );
      expect(decided({ ...task, metadata: { scout: true } })).toMatchObject(
        allowed
          ? { action: "SCOUT", model: "vendor_free_scout", cause: "scout_requested", sensitive_block_applied: false }
          : { action: "DENY", model: null, cause: "privacy_scout_denied", sensitive_block_applied: true },
      );
      expect(decided({ ...task, metadata: { routing: "free" } })).toMatchObject(
        allowed
          ? { model: "vendor_free_scout", cause: "hint_free", sensitive_block_applied: false }
          : { model: "vendor_v4_flash", cause: "score_flash", sensitive_block_applied: true },
      );
      expect(decided({ ...task, ...dimensions(0.5) })).toMatchObject(
        allowed
          ? { action: "SCOUT", cause: "gray_zone_scout", sensitive_block_applied: false }
          : { action: "ROUTE", cause: "gray_zone_flash", sensitive_block_applied: true },
      );
    },
  );
});

test("sensitive_block_applied is false if the task would not have gone to a free model", () => {
  for (const task of [{}, dimensions(1), { explicit_route: "PRO" }, { metadata: { routing: "flash" } }] as const) {
    expect(decided(task).sensitive_block_applied).toBe(false);
  }
});

test("the evidence shows what the privacy rule used", () => {
  const { evidence } = decided({ sensitive: false, repo_context_present: true, metadata: { routing: "free" } });
  expect(evidence).toContain("sensitive=false");
  expect(evidence).toContain("repo_context_present=true");
  expect(evidence).toContain("repo_free_opt_in=false");
  expect(evidence).toContain("hint_dropped=free");
});

describe("a registry that marks the worker model free", () => {
  const freeWorker = aModel({ key: "local_flash", role: "worker", free: true });
  const registry = aRegistry([freeWorker, seniorModel, emergencyModel]);

  test("never serves a sensitive task with it: a fallback answers, and the decision gives the reason", () => {
    const decision = decided({}, aSnapshot({ registry }));
    expect(decision).toMatchObject({ model: "vendor_v4_pro", cause: "score_flash", sensitive_block_applied: true });
    expect(decision.evidence).toContain("replaced=local_flash");
    expect(decision.evidence).toContain("replaced_because=free_model");
  });
});
