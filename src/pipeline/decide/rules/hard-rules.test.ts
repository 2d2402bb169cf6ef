import { describe, expect, test } from "bun:test";
import { type RoutingTask, type RuntimeState, taskKinds } from "#domain/routing.ts";
import { decide } from "#pipeline/decide/decide.ts";
import { aPolicy, aRuntime, aSnapshot, aTask, dimensions } from "#pipeline/decide/fixtures.ts";

type Given = readonly [task: Partial<RoutingTask>, runtime: Partial<RuntimeState>];
const easy = dimensions(0);
const decided = ([task, runtime]: Given, snapshot = aSnapshot()) =>
  decide(aTask({ ...easy, ...task }), aRuntime(runtime), snapshot);

const depth = (estimated_tool_depth: number, tool_depth = 0): Given => [{ estimated_tool_depth }, { tool_depth }];
const kind = (risk_level: RoutingTask["risk_level"]): Given => [{ kind: "AUTH", risk_level }, {}];
const risk = (risk_level: RoutingTask["risk_level"]): Given => [{ risk_level }, {}];
const radius = (blast_radius: RoutingTask["blast_radius"]): Given => [{ blast_radius }, {}];
const failure = (failure_class: RuntimeState["failure_class"]): Given => [{}, { failure_class }];

/** Each rule just below its trigger and at it, with its evidence. */
const triggers: readonly (readonly [rule: string, below: Given, at: Given, evidence: string])[] = [
  ["guarded_kind", kind("MEDIUM"), kind("HIGH"), "kind=AUTH"],
  ["critical_risk", risk("HIGH"), risk("CRITICAL"), "risk_level=CRITICAL"],
  ["critical_blast_radius", radius("HIGH"), radius("CRITICAL"), "blast_radius=CRITICAL"],
  ["structural_failure", failure("LOCAL"), failure("STRUCTURAL"), "failure_class=STRUCTURAL"],
  ["same_error_count", [{}, { same_error_count: 1 }], [{}, { same_error_count: 2 }], "same_error_count=2"],
  ["flash_attempts", [{}, { flash_attempts: 1 }], [{}, { flash_attempts: 2 }], "flash_attempts=2"],
  ["files_touched", [{}, { files_touched: 19 }], [{}, { files_touched: 20 }], "files_touched=20"],
  ["tool_depth", depth(0, 15), depth(0, 16), "tool_depth=16"],
  ["tool_depth", depth(15), depth(16), "tool_depth=16"],
  ["tool_depth", depth(7, 8), depth(8, 8), "tool_depth=16"],
];

describe("each hard rule", () => {
  test.each(triggers)("%s fires at its trigger and not one step below", (rule, below, at, evidence) => {
    expect(decided(below)).toMatchObject({ cause: "score_flash", hard_rule: false, model: "vendor_v4_flash" });
    const decision = decided(at);
    expect(decision).toMatchObject({
      action: "ROUTE",
      model: "vendor_v4_pro",
      purpose: "EXECUTE",
      cause: "hard_pro_rule",
      hard_rule: true,
      confidence: 1,
    });
    expect(decision.evidence).toContain(`hard_rule=${rule}`);
    expect(decision.evidence).toContain(evidence);
  });

  test.each([["HIGH"], ["CRITICAL"]] as const)("guards four kinds, and only them, at risk %s", (risk_level) => {
    const guarded = taskKinds.filter((kind) =>
      decided([{ kind, risk_level }, {}]).evidence.includes("hard_rule=guarded_kind"),
    );
    expect(guarded).toEqual(["SECURITY", "AUTH", "PAYMENT", "DESTRUCTIVE_MIGRATION"]);
  });
});

test("all hard rules that fire are in the evidence", () => {
  const { evidence } = decided([{ risk_level: "CRITICAL" }, { same_error_count: 3, files_touched: 40 }]);
  expect(evidence.filter((entry) => entry.startsWith("hard_rule="))).toEqual([
    "hard_rule=critical_risk",
    "hard_rule=same_error_count",
    "hard_rule=files_touched",
  ]);
  expect(evidence).toContain("same_error_count=3");
});

test("the triggers are those of the policy", () => {
  const strict = aSnapshot({ policy: aPolicy({ hard_rules: { same_error_count: 1, files_touched: 3 } }) });
  expect(decided([{}, { same_error_count: 1 }], strict).cause).toBe("hard_pro_rule");
  expect(decided([{}, { files_touched: 2 }], strict).cause).toBe("score_flash");
});

describe("attempts", () => {
  test("follow the policy's limit", () => {
    const patient = aSnapshot({ policy: aPolicy({ limits: { max_attempts: 100 } }) });
    expect(decided([{}, { attempts: 99 }], patient).action).toBe("ROUTE");
    expect(decided([{}, { attempts: 100 }], patient).action).toBe("STOP_FOR_HUMAN");
  });
});
