/** What one decision costs: `node_modules/.bin/bun bench/decide.ts`. Best of ten rounds, in microseconds per call. */
import { decide } from "#pipeline/decide/decide.ts";
import { aHealth, aRuntime, aSnapshot, aTask, dollars } from "#pipeline/decide/fixtures.ts";

const gray = { reasoning_requirement: 0.7, ambiguity: 0.7, dependency_depth: 0.7, verification_difficulty: 0.7 };
const cases = {
  "score_flash, nothing special": [aTask(), aRuntime(), aSnapshot()],
  gray_zone_scout: [aTask({ ...gray, sensitive: false }), aRuntime(), aSnapshot()],
  "hard_pro_rule, every rule fires": [
    aTask({ kind: "AUTH", risk_level: "CRITICAL", blast_radius: "CRITICAL", estimated_tool_depth: 9 }),
    aRuntime({
      same_error_count: 2,
      flash_attempts: 2,
      files_touched: 20,
      tool_depth: 9,
      failure_class: "STRUCTURAL",
    }),
    aSnapshot(),
  ],
  budget_soft_cap: [
    aTask({ reasoning: "HIGH" }),
    aRuntime(),
    aSnapshot({ spend: { goal: { spent: dollars(2), held: dollars(0.1) } } }),
  ],
  "replaced by a fallback": [aTask(), aRuntime(), aSnapshot({ health: aHealth({ vendor_v4_flash: "UNHEALTHY" }) })],
} as const;

const calls = 20_000;
let kept = 0; // the results are used, so that nothing is optimized away
for (const [name, [task, runtime, snapshot]] of Object.entries(cases)) {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 10; round++) {
    const start = performance.now();
    for (let call = 0; call < calls; call++) kept += decide(task, runtime, snapshot).evidence.length;
    best = Math.min(best, ((performance.now() - start) * 1000) / calls);
  }
  console.log(`${best.toFixed(2).padStart(7)} µs  ${name}`);
}
if (kept === 0) throw new Error("no decision had evidence");
