import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Cause, causes, type RoutingTask, type RuntimeState } from "#domain/routing.ts";
import { decide } from "./decide.ts";
import { aHealth, aRuntime, aSnapshot, aTask, dimensions, dollars } from "./fixtures.ts";
import type { Snapshot } from "./snapshot.ts";

/** One decision for every cause there is; the table is the closed union, so a new cause without a row does not compile. */
type Row = readonly [task: Partial<RoutingTask>, runtime: Partial<RuntimeState>, snapshot: Snapshot, expected: object];
const open = { sensitive: false };
const gray = dimensions(0.7);
const executes = (model: string) => ({ action: "ROUTE", model, purpose: "EXECUTE" });
const refuses = (action: "DENY" | "STOP_FOR_HUMAN") => ({ action, model: null, purpose: "NONE" });
const scouts = { action: "SCOUT", model: "vendor_free_scout", purpose: "SCOUT" };
const flash = executes("vendor_v4_flash");
const pro = executes("vendor_v4_pro");
const usual = aSnapshot();
const overSoft = aSnapshot({ spend: { goal: { spent: dollars(2), held: dollars(0) } } });
const overHard = aSnapshot({ spend: { goal: { spent: dollars(5), held: dollars(0) } } });
const allDown = aSnapshot({
  health: aHealth({ vendor_v4_flash: "UNHEALTHY", vendor_v4_pro: "QUARANTINE", vendor_emergency: "DISABLED" }),
});

const rows: { readonly [C in Cause]: Row } = {
  privacy_free_denied: [{ explicit_route: "FREE_SCOUT" }, {}, usual, refuses("DENY")],
  privacy_scout_denied: [{ metadata: { scout: true } }, {}, usual, refuses("DENY")],
  attempts_exhausted: [{}, { attempts: 8 }, usual, refuses("STOP_FOR_HUMAN")],
  hard_pro_rule: [{ kind: "AUTH", risk_level: "HIGH" }, {}, usual, { ...pro, hard_rule: true, confidence: 1 }],
  explicit_pro: [{ explicit_route: "PRO" }, {}, usual, pro],
  reasoning_high: [{ reasoning: "HIGH" }, {}, usual, pro],
  explicit_free: [{ ...open, explicit_route: "FREE_SCOUT" }, {}, usual, executes("vendor_free_scout")],
  explicit_flash: [{ ...dimensions(1), explicit_route: "FLASH" }, {}, usual, flash],
  scout_requested: [{ ...open, metadata: { scout: true } }, {}, usual, scouts],
  hint_pro: [{ metadata: { routing: "pro" } }, {}, usual, pro],
  hint_flash: [{ ...dimensions(1), metadata: { routing: "flash" } }, {}, usual, flash],
  hint_free: [{ ...open, metadata: { routing: "free" } }, {}, usual, executes("vendor_free_scout")],
  score_flash: [{}, {}, usual, flash],
  score_pro: [dimensions(1), {}, usual, pro],
  gray_zone_scout: [{ ...open, ...gray }, {}, usual, scouts],
  gray_zone_flash: [dimensions(0.6), {}, usual, { ...flash, sensitive_block_applied: true }],
  gray_zone_pro: [gray, {}, usual, { ...pro, sensitive_block_applied: true }],
  affinity: [{}, {}, aSnapshot({ affinity: { model: "vendor_v4_pro", continuation: true } }), pro],
  budget_soft_cap: [dimensions(1), {}, overSoft, flash],
  budget_hard_cap_exceeded: [{}, {}, overHard, refuses("DENY")],
  all_models_unhealthy: [{}, {}, allDown, refuses("STOP_FOR_HUMAN")],
};

test("the evidence shows fields that the policy forwards, with their possible cost", () => {
  const surcharge = { fee: dollars(0.02), factor: 2, fields: ["plugins", "preset"] };
  const plain = aSnapshot();
  const { evidence } = decide(aTask(), aRuntime(), { ...plain, size: { ...plain.size, surcharge } });
  expect(evidence).toContain("forwarded_fields=plugins,preset");
  expect(evidence).toContain("surcharge_usd=0.02");
  expect(evidence).toContain("price_factor=2");
});

describe("every cause", () => {
  test.each(causes.map((cause): [Cause, Row] => [cause, rows[cause]]))(
    "%s",
    (cause, [task, runtime, snapshot, expected]) => {
      const decision = decide(aTask(task), aRuntime(runtime), snapshot);
      expect(decision).toMatchObject({ cause, hard_rule: cause === "hard_pro_rule", ...expected });
    },
  );
});

describe("the record", () => {
  test("has evidence of each stage, in order", () => {
    expect(decide(aTask({ kind: "AUTH", risk_level: "HIGH" }), aRuntime(), usual).evidence).toEqual([
      "kind=AUTH",
      "risk_level=HIGH",
      "sensitive=true",
      "points_reasoning_requirement=7.5",
      "points_ambiguity=4.5",
      "points_dependency_depth=4.5",
      "points_verification_difficulty=6",
      "points_risk_level=6.67",
      "points_kind_bias=8",
      "points=37.17",
      "score_scale=declared",
      "score=90.61",
      "hard_rule=guarded_kind",
    ]);
  });
});

describe("docs/routing.md", () => {
  const page = readFileSync(join(import.meta.dir, "../../../docs/routing.md"), "utf8");

  test("explains every key of the evidence of these decisions", () => {
    const table = page.slice(page.indexOf("## Evidence"));
    const keys = Object.values(rows).flatMap(([task, runtime, snapshot]) =>
      decide(aTask(task), aRuntime(runtime), snapshot).evidence.map((entry) => entry.split("=")[0] ?? ""),
    );
    const unexplained = new Set(keys.filter((key) => !/^(points|health)_/.test(key) && !table.includes(`\`${key}\``)));
    expect([...unexplained]).toEqual([]);
  });
});
