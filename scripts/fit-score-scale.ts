/**
 * Makes src/pipeline/decide/rules/score-shares.ts: the share of asks below each number of points. Run it after a change of the
 * points: `bun scripts/fit-score-scale.ts`. Needs the routing development data at ../shared/routing-dev.
 * Only numbers leave the data: quantiles of the points, never a text.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { assessedPrompt, benchPolicy } from "../bench/routing/assessed.ts";
import { routingDev } from "../bench/routing/prompt-data.ts";
import { pointsOf } from "../src/pipeline/decide/rules/score.ts";

/** Sources whose licence requires derived work to be shared alike. They are left out, although quantiles are hardly derived work. */
const leftOut = new Set(["llmrouter-arc-challenge", "llmrouter-natural-qa"]);
/** Kinds that hard rules decide. */
const highRisk = new Set(["SECURITY", "AUTH", "PAYMENT", "DESTRUCTIVE_MIGRATION"]);

const data = routingDev();
if (data === undefined) throw new Error("no routing development data at ../shared/routing-dev");

const asks: { readonly points: number; readonly weight: number }[] = [];
for (const [source, rows] of data) {
  if (leftOut.has(source)) continue;
  const scored = rows.map((row) => assessedPrompt(row)).filter(({ task }) => !highRisk.has(task.kind));
  // Every source has the same weight, however many asks it has.
  for (const { task, runtime } of scored) {
    asks.push({ points: pointsOf(task, runtime, benchPolicy, []), weight: 1 / scored.length });
  }
}
asks.sort((a, b) => a.points - b.points);

const total = asks.reduce((sum, { weight }) => sum + weight, 0);
/** The points below which 0, 1, … 99 % of the asks lie; rising by at least a hundredth. */
const points = [0];
let at = 0;
let below = 0;
for (let percent = 1; percent < 100; percent++) {
  while (at < asks.length - 1 && below + (asks[at]?.weight ?? 0) <= (percent / 100) * total) {
    below += asks[at]?.weight ?? 0;
    at++;
  }
  points.push(Math.max(rounded((points.at(-1) ?? 0) + 0.01), rounded(asks[at]?.points ?? 0)));
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

const file = join(import.meta.dirname, "../src/pipeline/decide/rules/score-shares.ts");
const text = `/**
 * Made by scripts/fit-score-scale.ts; do not edit. The points below which 0, 1, … 99 % of public prompts lie, every source counting
 * the same: MMLU-Pro, MATH, GSM8K, MMLU, HumanEval, CommonsenseQA, CommonGen, CRUXEval, SWE-bench Lite, Exercism and UncommonRoute
 * (MIT), DebugBench, OpenBookQA, LogicGrid and Berkeley function calling (Apache-2.0), MBPP (CC BY 4.0). Numbers only; no text of
 * theirs is here.
 */
// biome-ignore format: numbers in rows of ten
export const sharePoints: readonly number[] = [
${Array.from({ length: 10 }, (_, row) => `  ${points.slice(10 * row, 10 * row + 10).join(", ")},\n`).join("")}];
`;
writeFileSync(file, text);
console.log(`wrote ${file}`);
