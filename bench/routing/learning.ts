// What an installation could learn from its own outcome records, on simulated ones: prompts with the recorded outcomes of a
// weak and a strong model, all routed to flash, half of flash's failures retried on pro, the other half never heard of.
// `bun bench/routing/learning.ts`

import { featureVersion } from "#domain/learned-weights.ts";
import { fitBenefit } from "#learning/fit/benefit-model.ts";
import { shuffled } from "#learning/fit/landmarks.ts";
import { trialsIn } from "#learning/fit/observations.ts";
import { type DecisionPart, noSignals, type OutcomeRecord } from "#learning/outcomes/outcomes.ts";
import { featureVectorOf } from "#pipeline/decide/learned/feature-vector.ts";
import { learnedScoreOf } from "#pipeline/decide/learned/learned-score.ts";
import { scoreOf } from "#pipeline/decide/rules/score.ts";
import { seededRandom } from "#platform/testing/seeded-random.ts";
import { quantile } from "../support/quantiles.ts";
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
/** Of the asks without a signal one in this many is written, with this weight. */
const silentShare = 8;
/** Installations per line, each with its own seed. */
const installations = Number(process.argv[2] ?? 40);
/** Held-out asks, at most. */
const heldOut = 3_000;

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

/** The records of an installation with these asks: all of them, or those that a single process with SQLite writes. */
function recordsOf(routed: readonly Ask[], random: () => number, sampled: boolean): OutcomeRecord[] {
  return routed.flatMap(({ decision, weak, strong }, index) => {
    const retried = weak < 0.5 && random() < retriedShare;
    const first = {
      decisionId: `a${index}`,
      atMs: index,
      decision,
      signals: { ...noSignals, repeated: retried ? 1 : 0 },
    };
    if (!retried) {
      if (!sampled) return [first];
      return random() < 1 / silentShare ? [{ ...first, decision: { ...decision, standsFor: silentShare } }] : [];
    }
    const onPro = { ...decision, tier: "pro" as const, retryOf: first.decisionId };
    const signals = { ...noSignals, repeated: strong < 0.5 ? 1 : 0 };
    return [first, { decisionId: `b${index}`, atMs: index, decision: onPro, signals }];
  });
}

/** Which asks go to flash, and which of them are written. */
interface Variant {
  readonly flashBelow: number;
  readonly sampled: boolean;
}

function gainOf(pool: readonly Ask[], routed: number, random: () => number, { flashBelow, sampled }: Variant) {
  const mixed = shuffled(pool, random);
  const seen = mixed.slice(0, routed);
  const onFlash = seen.filter(({ decision }) => decision.score < flashBelow);
  const trials = trialsIn(recordsOf(onFlash, random, sampled));
  const weights = fitBenefit(trials, { ranked: seen.map(({ decision }) => decision), nowMs: 0 });
  const held = mixed.slice(routed, routed + heldOut);
  const qualityBy = (score: (ask: Ask) => number) => qualityOf(held.map((ask) => ({ ...ask, score: score(ask) }))).apgr;
  return {
    shipped: qualityBy(({ decision }) => decision.score),
    learned: qualityBy(({ decision }) => learnedScoreOf({ weights, features: decision.features }, decision.score)),
    trials: trials.filter(({ rescued }) => rescued !== undefined).length,
  };
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const sources = [...new Set(asks.map(({ source }) => source))];
const from = (source: string) => asks.filter((ask) => ask.source === source);
/** The asks that an installation may receive, by its seed. */
type Pool = (random: () => number) => readonly Ask[];
const everything: Variant = { flashBelow: 101, sampled: false };
const pools: readonly (readonly [string, Pool, way?: Variant])[] = [
  ["all sources mixed", () => asks],
  ["all sources mixed, one in eight silent asks written", () => asks, { ...everything, sampled: true }],
  ["all sources mixed, from 93.5 on to pro, nothing explored", () => asks, { ...everything, flashBelow: 93.5 }],
  ["400 of each source", (random) => sources.flatMap((source) => shuffled(from(source), random).slice(0, 400))],
  [
    "600 of each of eight sources, drawn",
    (random) =>
      shuffled(sources, random)
        .slice(0, 8)
        .flatMap((source) => shuffled(from(source), random).slice(0, 600)),
  ],
  ...sources.map((source): readonly [string, Pool] => [source, () => from(source)]),
];
console.log(
  "| asks | records | rescue trials | APGR shipped | learned | mean gain [95 %] | worst of 20 installations | gained |",
);
console.log("|---|---|---|---|---|---|---|---|");
for (const [name, pool, way = everything] of pools) {
  for (const routed of [300, 1_000]) {
    if (pool(seededRandom(1)).length < routed + 300) continue;
    const runs = Array.from({ length: installations }, (_, seed) => {
      const random = seededRandom(1_000 * routed + seed);
      return gainOf(pool(random), routed, random, way);
    });
    const gains = runs.map(({ shipped, learned }) => learned - shipped);
    const gain = mean(gains);
    const error = Math.sqrt(mean(gains.map((each) => (each - gain) ** 2)) / gains.length);
    const figures = [
      mean(runs.map(({ trials }) => trials)).toFixed(0),
      mean(runs.map(({ shipped }) => shipped)).toFixed(3),
      mean(runs.map(({ learned }) => learned)).toFixed(3),
      `${gain.toFixed(3)} [${(gain - 1.96 * error).toFixed(3)}, ${(gain + 1.96 * error).toFixed(3)}]`,
      quantile(gains, 0.05).toFixed(3),
      `${((100 * gains.filter((each) => each > 0).length) / gains.length).toFixed(0)} %`,
    ];
    console.log(`| ${name} | ${routed} | ${figures.join(" | ")} |`);
  }
}
