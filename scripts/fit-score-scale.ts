/**
 * Makes src/pipeline/decide/rules/score-scale-tables.ts: the share of asks below each number of points. Run it after a change of the
 * points: `bun scripts/fit-score-scale.ts`. Needs the routing development data at ../shared/routing-dev.
 * Only numbers leave the data: quantiles of the points, never a text.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { assessedPrompt, benchPolicy } from "../bench/routing/assessed.ts";
import { routingDev } from "../bench/routing/prompt-data.ts";
import { scaleFor } from "../src/pipeline/assess/score-scale.ts";
import { pointsOf } from "../src/pipeline/decide/rules/score.ts";

/** Sources whose licence requires derived work to be shared alike. They are left out, although quantiles are hardly derived work. */
const leftOut = new Set(["llmrouter-arc-challenge", "llmrouter-natural-qa"]);
/** A source with fewer asks of a kind says little about their distribution. */
const fewest = 100;

const data = routingDev();
if (data === undefined) throw new Error("no routing development data at ../shared/routing-dev");

interface Weighed {
  readonly points: number;
  readonly weight: number;
}
const pools: Record<"chat" | "agent", Weighed[]> = { chat: [], agent: [] };
const sources: Record<"chat" | "agent", string[]> = { chat: [], agent: [] };
for (const [source, rows] of data) {
  if (leftOut.has(source)) continue;
  const judged = rows
    .map((row) => assessedPrompt(row))
    .map(({ task, runtime }) => ({
      scale: scaleFor(task.kind),
      points: pointsOf(task, runtime, benchPolicy, []),
    }));
  for (const scale of ["chat", "agent"] as const) {
    const of = judged.filter((each) => each.scale === scale);
    if (of.length < fewest) continue;
    // Every source has the same weight, however many asks it has.
    sources[scale].push(source);
    pools[scale].push(...of.map(({ points }) => ({ points, weight: 1 / of.length })));
  }
}

const shares = [...Array.from({ length: 99 }, (_, index) => index + 1), 99.5, 99.9];

/** The points below which each percent of a pool lies; rising by at least a hundredth. */
function knotsOf(pool: readonly Weighed[]): [number, number][] {
  const sorted = [...pool].sort((a, b) => a.points - b.points);
  const total = sorted.reduce((sum, { weight }) => sum + weight, 0);
  const knots: [number, number][] = [[0, 0]];
  let at = 0;
  let below = 0;
  for (const share of shares) {
    while (at < sorted.length - 1 && below + (sorted[at]?.weight ?? 0) <= (share / 100) * total) {
      below += sorted[at]?.weight ?? 0;
      at++;
    }
    const before = knots.at(-1)?.[0] ?? 0;
    knots.push([Math.max(round(before + 0.01), round(sorted[at]?.points ?? 0)), share]);
  }
  return [...knots, [100, 100]];
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

const header = `/**
 * Made by scripts/fit-score-scale.ts; do not edit. Quantiles of the points that public prompts get, every source counting the
 * same: MMLU-Pro, MATH, GSM8K, MMLU, HumanEval, CommonsenseQA, CommonGen, CRUXEval, SWE-bench Lite, Exercism and UncommonRoute
 * (MIT), DebugBench, OpenBookQA, LogicGrid and Berkeley function calling (Apache-2.0), MBPP (CC BY 4.0). Numbers only; no text of
 * theirs is here.
 */
`;
const table = (name: string, scale: "chat" | "agent") =>
  `/** From ${sources[scale].join(", ")}. */\nexport const ${name}: readonly (readonly [points: number, score: number])[] = [\n${knotsOf(
    pools[scale],
  )
    .map(([points, score]) => `  [${points}, ${score}],\n`)
    .join("")}];\n`;
const file = join(import.meta.dirname, "../src/pipeline/decide/rules/score-scale-tables.ts");
writeFileSync(file, `${header}\n${table("chatKnots", "chat")}\n${table("agentKnots", "agent")}`);
console.log(`wrote ${file}`);
