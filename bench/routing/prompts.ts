import { randomSequence } from "#learning/fit/random-sequence.ts";
import { zoneOf } from "#pipeline/decide/rules/score.ts";
import { assessedPrompt, benchPolicy, scoreOfAssessed } from "./assessed.ts";
import { guardedKinds, judgedAsks, judgedSets } from "./guarded-asks.ts";
import { qualityOf, type Row, routingDev, type Scored } from "./prompt-data.ts";

/** How well a score selects, with the bounds of its 95 % interval (bootstrap over the rows). */
export interface Estimate {
  readonly apgr: number;
  readonly low: number;
  readonly high: number;
}

export interface SourceQuality {
  readonly source: string;
  readonly rows: number;
  /** Mean advantage of the strong model. */
  readonly gap: number;
  readonly score: Estimate;
  readonly random: number;
  readonly length: number;
  readonly keywords: number;
  /** Whether it counts in the means: enough rows, a large enough gap, a strong model that is not small. */
  readonly counts: boolean;
}

/** How well guarded asks are distinguished from ordinary ones. */
export interface GuardedQuality {
  readonly name: string;
  readonly recall: number;
  readonly precision: number;
  readonly guarded: number;
  readonly ordinary: number;
}

export interface PromptQuality {
  readonly sources: readonly SourceQuality[];
  /** Over the sources that count: plain, and weighted by the inverse of each source's variance. */
  readonly means: Readonly<Record<"score" | "random" | "length" | "keywords", { plain: number; weighted: number }>>;
  /** Share of the rows of each kind of source above the shipped midpoint. */
  readonly kinds: { readonly right: number; readonly of: number };
  readonly guarded: { readonly recall: number; readonly precision: number; readonly of: number };
  /** Prompts that are not labelled as guarded, and those of them that are taken for it. */
  readonly falseAlarms: { readonly of: number; readonly found: number };
  /** Asks written to judge the rules, by set. */
  readonly judged: readonly GuardedQuality[];
  readonly languages: { readonly right: number; readonly of: number };
  /** Share of all prompts, every source counting the same, in each zone. */
  readonly zones: Readonly<Record<"flash" | "gray" | "pro", number>>;
}

/** Sources whose strong model is small and also fails the hardest questions: they do not measure which model should answer. */
const smallStrongModel = new Set(["llmrouter-math", "llmrouter-agentverse-logicgrid"]);
const hardWords =
  /\b(prove|design|architect\w*|optimi[sz]e|distributed|concurren\w*|algorithm|complex\w*|refactor|debug|analy[sz]e|implement|explain why|step by step|integral|derive|theorem|security|performance|trade-?offs?)\b/gi;

/** Undefined if the prompts are absent. */
export function measurePrompts(resamples = 1_000): PromptQuality | undefined {
  const data = routingDev();
  if (data === undefined) return undefined;
  const random = randomSequence(7);
  const sources: SourceQuality[] = [];
  const zones = { flash: 0, gray: 0, pro: 0 };
  const falseAlarms = { of: 0, found: 0 };
  const guesses: { row: Row; kind: string; high: boolean }[] = [];
  for (const [source, rows] of data) {
    const judged = rows.map((row) => {
      const assessment = assessedPrompt(row);
      return { row, assessment, score: scoreOfAssessed(assessment) };
    });
    for (const { score } of judged) zones[zoneOf(score, benchPolicy)] += 1 / rows.length / data.size;
    for (const { row, assessment } of judged) {
      const { kind, risk_level } = assessment.task;
      if (!isGuardedKind(row.kind)) {
        falseAlarms.of++;
        if (isGuardedKind(kind) && ["HIGH", "CRITICAL"].includes(risk_level)) falseAlarms.found++;
      }
      if (row.kind !== undefined) guesses.push({ row, kind, high: ["HIGH", "CRITICAL"].includes(risk_level) });
    }
    const paired = judged.flatMap(({ row, score }) =>
      row.weak_score === undefined || row.strong_score === undefined
        ? []
        : [{ score, prompt: row.prompt, weak: row.weak_score, strong: row.strong_score }],
    );
    if (paired.length === 0) continue;
    const gap = paired.reduce((sum, { weak, strong }) => sum + strong - weak, 0) / paired.length;
    const by = (value: (prompt: string) => number) =>
      qualityOf(paired.map((each) => ({ ...each, score: value(each.prompt) }))).apgr;
    sources.push({
      source,
      rows: rows.length,
      gap,
      score: estimated(paired, resamples, random),
      random: by(() => random()),
      length: by((prompt) => prompt.length),
      keywords: by((prompt) => prompt.match(hardWords)?.length ?? 0),
      counts: gap >= 0.08 && rows.length >= 300 && !smallStrongModel.has(source),
    });
  }
  return {
    sources,
    means: {
      score: meansOf(sources, ({ score }) => score.apgr),
      random: meansOf(sources, (each) => each.random),
      length: meansOf(sources, (each) => each.length),
      keywords: meansOf(sources, (each) => each.keywords),
    },
    kinds: { right: guesses.filter(({ row, kind }) => row.kind === kind).length, of: guesses.length },
    guarded: guardedOf(guesses),
    falseAlarms,
    judged: judgedQuality(),
    languages: languagesRight(),
    zones,
  };
}

function estimated(rows: readonly Scored[], resamples: number, random: () => number): Estimate {
  const drawn = Array.from({ length: resamples }, () => {
    const sample = rows.map(() => rows[Math.floor(random() * rows.length)] ?? { score: 0, weak: 0, strong: 0 });
    return qualityOf(sample).apgr;
  })
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  const at = (share: number) => drawn[Math.floor(share * (drawn.length - 1))] ?? 0;
  return { apgr: qualityOf(rows).apgr, low: at(0.025), high: at(0.975) };
}

function meansOf(sources: readonly SourceQuality[], value: (source: SourceQuality) => number) {
  const counted = sources.filter(({ counts }) => counts);
  const weightOf = ({ score }: SourceQuality) => 1 / (score.high - score.low) ** 2;
  const weights = counted.reduce((sum, each) => sum + weightOf(each), 0);
  return {
    plain: counted.reduce((sum, each) => sum + value(each), 0) / counted.length,
    weighted: counted.reduce((sum, each) => sum + value(each) * weightOf(each), 0) / weights,
  };
}

function isGuardedKind(kind: string | undefined): boolean {
  return guardedKinds.some((each) => each === kind);
}

function guardedOf(guesses: readonly { row: Row; kind: string; high: boolean }[]) {
  const wanted = guesses.filter(
    ({ row }) => isGuardedKind(row.kind) && (row.risk === undefined || ["high", "critical"].includes(row.risk)),
  );
  const found = guesses.filter(({ kind, high }) => high && isGuardedKind(kind));
  const both = wanted.filter((each) => found.includes(each)).length;
  return { recall: both / wanted.length, precision: both / found.length, of: wanted.length };
}

/** Guarded, and at high enough risk for the hard rule. */
function isGuardedWork(prompt: string): boolean {
  const { kind, risk_level } = assessedPrompt({ prompt }).task;
  return isGuardedKind(kind) && ["HIGH", "CRITICAL"].includes(risk_level);
}

/** How well the guarded asks of each set are distinguished. */
function judgedQuality(): GuardedQuality[] {
  return judgedSets().map(({ name, guarded, ordinary }) => {
    const [right, wrong] = [guarded.filter(isGuardedWork).length, ordinary.filter(isGuardedWork).length];
    return {
      name,
      recall: right / guarded.length,
      precision: right / (right + wrong),
      guarded: guarded.length,
      ordinary: ordinary.length,
    };
  });
}

function languagesRight() {
  const cases = judgedAsks.filter(({ kind }) => kind !== undefined);
  const right = cases.filter(({ kind, prompt }) => assessedPrompt({ prompt }).task.kind === kind).length;
  return { right, of: cases.length };
}
