import { join } from "node:path";
import { askWeights, dimensionsOf } from "#pipeline/assess/ask/features.ts";
import { pointsOf } from "#pipeline/decide/rules/score.ts";
import { assessedPrompt, benchPolicy, routed, scoreOfAssessed, type Tier } from "./assessed.ts";
import { highRiskKinds, judgedAsks, judgedSets } from "./high-risk-asks.ts";
import { apgr, type Row, routingDev } from "./prompt-data.ts";

/** How well a score selects the prompts for the strong model (APGR), and the two errors at the shipped thresholds. */
export interface SourceQuality {
  readonly source: string;
  readonly rows: number;
  /** Mean advantage of the strong model. */
  readonly gap: number;
  readonly score: number;
  /** With the counts that all other sources would have kept. */
  readonly leftOut: number;
  readonly length: number;
  readonly regexes: number;
  /** The score of another checkout. */
  readonly other: number | undefined;
  /** Of the rows that only the strong model solves, the share sent to flash; of those that the weak one solves, the share sent to pro. */
  readonly hardToFlash: number;
  readonly easyToPro: number;
  /** Cost as a share of pro alone, at list prices per token. */
  readonly timesPro: number;
}

/** Six regular expressions that nobody has tuned: code, reasons, technical words, steps, constraints, trivial openings. */
const regexes: readonly (readonly [RegExp, number])[] = [
  [/```|\b(?:def|class|function|import|return|const|let|var)\b|[{};]\s*$/gm, 1],
  [/\b(?:prove|derive|explain|why|step by step|analy[sz]e|compare|evaluate|trade-?offs?)\b/gi, 1],
  [
    /\b(?:algorithm|architecture|distributed|database|concurren\w+|optimi[sz]\w+|protocol|complexity|theorem|equation|probability)\b/gi,
    1,
  ],
  [/\b(?:first|then|next|finally|after that)\b|^\s*(?:\d+[.)]|[-*])\s/gim, 1],
  [/\b(?:must|should|exactly|at least|at most|without|only|ensure|requires?)\b/gi, 1],
  [/^(?:hi|hello|hey|thanks|what is|who is|when|where|define|translate)\b/gi, -1],
];
const proPrice = 0.87;
const flashPrice = 0.28;

interface Judged {
  readonly row: Row;
  readonly score: number;
  readonly tier: Tier;
  readonly kind: string;
  readonly highRisk: boolean;
}

/** Undefined if the prompts are absent. `other` is the folder of another checkout, whose score is measured too. */
export async function measurePrompts(other: string | undefined) {
  const data = routingDev();
  if (data === undefined) return undefined;
  const otherScore = other === undefined ? undefined : await scoreOfCheckout(other);
  const sources: SourceQuality[] = [];
  const all: Judged[] = [];
  const paired = [...data].flatMap(([source, rows]) => {
    const outcomes = rows.filter((row) => row.weak_score !== undefined && row.strong_score !== undefined);
    return outcomes.length === 0 ? [] : [[source, outcomes] as const];
  });
  const leftOut = scoresLeftOut(new Map(paired));
  for (const [source, rows] of data) {
    const judged = rows.map(judge);
    all.push(...judged);
    const outcomes = judged.filter(({ row }) => row.weak_score !== undefined && row.strong_score !== undefined);
    if (outcomes.length === 0) continue;
    const by = (score: (each: Judged) => number) =>
      apgr(outcomes.map((each) => ({ ...outcome(each.row), score: score(each) })));
    const hard = outcomes.filter(({ row }) => outcome(row).strong - outcome(row).weak >= 0.5);
    const easy = outcomes.filter(({ row }) => outcome(row).weak >= 0.5);
    const pro = share(outcomes, ({ tier }) => tier === "pro");
    sources.push({
      source,
      rows: outcomes.length,
      gap: mean(outcomes.map(({ row }) => outcome(row).strong - outcome(row).weak)),
      score: by(({ score }) => score),
      leftOut: leftOut.get(source) ?? 0,
      length: by(({ row }) => row.prompt.length),
      regexes: by(({ row }) => regexScore(row.prompt)),
      other: otherScore && by(({ row }) => otherScore(row)),
      hardToFlash: share(hard, ({ tier }) => tier === "flash"),
      easyToPro: share(easy, ({ tier }) => tier === "pro"),
      timesPro: pro + (1 - pro) * (flashPrice / proPrice),
    });
  }
  const labelled = all.filter(({ row }) => row.kind !== undefined);
  const ordinary = all.filter(({ row }) => !isHighRiskKind(row.kind));
  return {
    sources,
    kinds: { right: labelled.filter(({ row, kind }) => row.kind === kind).length, of: labelled.length },
    falseAlarms: { found: ordinary.filter(({ highRisk }) => highRisk).length, of: ordinary.length },
    judged: judgedSets().map(({ name, highRisk, ordinary }) => ({
      name,
      highRisk: highRisk.length,
      ordinary: ordinary.length,
      missed: share(highRisk, (prompt) => !judge({ prompt }).highRisk),
      falseAlarms: share(ordinary, (prompt) => judge({ prompt }).highRisk),
    })),
    languages: share(
      judgedAsks.filter(({ kind }) => kind !== undefined),
      ({ kind, prompt }) => judge({ prompt }).kind === kind,
    ),
  };
}

function judge(row: Pick<Row, "prompt" | "tools">): Judged {
  const assessment = assessedPrompt(row);
  const { kind, risk_level } = assessment.task;
  return {
    row: row as Row, // of a judged set only the prompt is read
    score: scoreOfAssessed(assessment),
    tier: routed(assessment).tier,
    kind,
    highRisk: isHighRiskKind(kind) && (risk_level === "HIGH" || risk_level === "CRITICAL"),
  };
}

function isHighRiskKind(kind: string | undefined): boolean {
  return highRiskKinds.some((each) => each === kind);
}

type Scorer = (row: Pick<Row, "prompt" | "tools">) => number;

/** The score of the same bench in another checkout. */
async function scoreOfCheckout(folder: string): Promise<Scorer> {
  const module = await import(join(folder, "bench/routing/assessed.ts"));
  return (row) => module.scoreOfAssessed(module.assessedPrompt(row));
}

function regexScore(prompt: string): number {
  return regexes.reduce((sum, [regex, sign]) => sum + sign * Math.min(4, prompt.match(regex)?.length ?? 0), 0);
}

/** Their strong model is small, and also fails the hardest questions: they do not tell which model should answer. */
const smallStrongModel = new Set(["llmrouter-math", "llmrouter-agentverse-logicgrid"]);
const counts = ["short_question", "constraints", "steps"] as const;

/**
 * The APGR of each source with the counts that the other sources would have kept: not those whose absence makes their
 * mean better. Sources with few rows, or hardly a difference between the models, have no say.
 */
function scoresLeftOut(data: ReadonlyMap<string, readonly Row[]>): ReadonlyMap<string, number> {
  const shipped = askWeights;
  const without = (dropped: readonly string[]) => ({
    ...shipped,
    ...Object.fromEntries(dropped.map((count) => [count, 0])),
  });
  const results = [...data].map(([source, rows]) => {
    const assessed = rows.map((row) => ({ row, ...assessedPrompt(row) }));
    const quality = (weights: typeof shipped) =>
      apgr(
        assessed.map(({ row, features, task, runtime }) => ({
          ...outcome(row),
          score: pointsOf({ ...task, ...dimensionsOf(features, weights) }, runtime, benchPolicy, []),
        })),
      );
    const whole = quality(shipped);
    const gap = mean(rows.map((row) => outcome(row).strong - outcome(row).weak));
    const telling = gap * Math.sqrt(rows.length) >= 2 && !smallStrongModel.has(source);
    return { source, telling, quality, loss: counts.map((count) => whole - quality(without([count]))) };
  });
  return new Map(
    results.map(({ source, quality }) => {
      const others = results.filter((each) => each.telling && each.source !== source);
      const dropped = counts.filter((_, at) => mean(others.map(({ loss }) => loss[at] ?? 0)) < 0);
      return [source, quality(without(dropped))];
    }),
  );
}

function outcome({ weak_score = 0, strong_score = 0 }: Row): { weak: number; strong: number } {
  return { weak: weak_score, strong: strong_score };
}

function share<T>(list: readonly T[], holds: (each: T) => boolean): number {
  return list.length === 0 ? 0 : list.filter(holds).length / list.length;
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0) / Math.max(1, numbers.length);
}
