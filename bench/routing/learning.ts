// What an installation could learn from its own outcome records, on simulated ones: prompts with the recorded outcomes of a
// weak and a strong model, all routed to flash, half of flash's failures retried on pro, the other half never heard of.
// `bun bench/routing/learning.ts`
import { benefitOf, fitRescueModel } from "#learning/fit/rescue-model.ts";
import {
  type DecisionPart,
  featureVectorOf,
  featureVersion,
  noSignals,
  type OutcomeRecord,
} from "#learning/outcomes/outcomes.ts";
import { scoreOf } from "#pipeline/decide/rules/score.ts";
import { assessedPrompt, benchPolicy } from "./assessed.ts";
import { qualityOf, routingDev } from "./prompt-data.ts";

const data = routingDev();
if (data === undefined) {
  console.log("The routing development data is not here: nothing to learn from.");
  process.exit(0);
}

interface Ask {
  readonly source: string;
  readonly decision: DecisionPart;
  readonly weak: number;
  readonly strong: number;
}

const retriedShare = 0.5;
/** How much of the order is the learned one; the rest is the shipped score's. */
const blend = 0.7;
const installations = 30;
let state = 1;
const random = () => {
  state = (state * 1_664_525 + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};

const asks = [...data.values()].flat().flatMap((row): Ask[] => {
  const { source, weak_score: weak, strong_score: strong } = row;
  if (weak === undefined || strong === undefined) return [];
  const { task, runtime, scale, features } = assessedPrompt(row);
  const score = scoreOf(task, runtime, benchPolicy, [], scale);
  const shared = { version: featureVersion, kind: task.kind, cause: "score_flash", explored: false } as const;
  const vector = featureVectorOf(task, features);
  return [
    {
      source,
      weak,
      strong,
      decision: { ...shared, features: vector, tier: "flash", model: "flash", score, probability: 1 },
    },
  ];
});

/** The records that an installation would have of these asks. */
function recordsOf(routed: readonly Ask[]): OutcomeRecord[] {
  return routed.flatMap(({ decision, weak, strong }, index) => {
    const retried = weak < 0.5 && random() < retriedShare;
    const first = {
      decisionId: `a${index}`,
      atMs: index,
      decision,
      signals: { ...noSignals, repeated: retried ? 1 : 0 },
    };
    if (!retried) return [first];
    const onPro = { ...decision, tier: "pro" as const, retryOf: first.decisionId };
    const signals = { ...noSignals, repeated: strong < 0.5 ? 1 : 0 };
    return [first, { decisionId: `b${index}`, atMs: index, decision: onPro, signals }];
  });
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/** Each value's place in the order of all, 0..1. */
function ranks(values: readonly number[]): number[] {
  const places = new Array<number>(values.length).fill(0);
  const order = [...values.keys()].sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0));
  for (const [place, index] of order.entries()) places[index] = place / values.length;
  return places;
}

function gainOf(pool: readonly Ask[], routed: number) {
  const mixed = shuffled(pool);
  const model = fitRescueModel(recordsOf(mixed.slice(0, routed)), 1);
  const held = mixed.slice(routed);
  const shipped = qualityOf(held.map(({ weak, strong, decision }) => ({ weak, strong, score: decision.score }))).apgr;
  if (model === undefined) return { shipped, learned: shipped, trials: 0 };
  const own = ranks(held.map(({ decision }) => benefitOf(model, decision)));
  const given = ranks(held.map(({ decision }) => decision.score));
  const scored = held.map(({ weak, strong }, index) => ({
    weak,
    strong,
    score: blend * (own[index] ?? 0) + (1 - blend) * (given[index] ?? 0),
  }));
  return { shipped, learned: qualityOf(scored).apgr, trials: model.trials };
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const pools: readonly (readonly [string, readonly Ask[]])[] = [
  ["all sources mixed", asks],
  ...[...data.keys()].map((name) => [name, asks.filter(({ source }) => source === name)] as const),
];
console.log("| asks | records | rescue trials | APGR shipped | learned | gain (5 % .. 95 % of installations) |");
console.log("|---|---|---|---|---|---|");
for (const [name, pool] of pools) {
  for (const routed of [300, 1_000]) {
    if (pool.length < routed + 300) continue;
    const runs = Array.from({ length: installations }, () => gainOf(pool, routed));
    const gains = runs.map(({ shipped, learned }) => learned - shipped).sort((a, b) => a - b);
    const at = (share: number) => (gains[Math.floor(share * (gains.length - 1))] ?? 0).toFixed(3);
    const figures = [runs.map(({ shipped }) => shipped), runs.map(({ learned }) => learned)].map((each) =>
      mean(each).toFixed(3),
    );
    const trials = mean(runs.map((run) => run.trials)).toFixed(0);
    console.log(
      `| ${name} | ${routed} | ${trials} | ${figures.join(" | ")} | ${mean(gains).toFixed(3)} (${at(0.05)} .. ${at(0.95)}) |`,
    );
  }
}
