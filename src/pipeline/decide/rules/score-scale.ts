import type { TaskKind } from "#domain/routing.ts";
import { agentKnots, chatKnots } from "./score-scale-tables.ts";

/**
 * How points become a score. `chat` and `agent` are quantiles: a score of 85 says that 85 of 100 asks of that sort have fewer
 * points. `declared` is for a task whose dimensions somebody has stated, which are not distributed like inferred ones.
 */
export type ScoreScale = "declared" | "chat" | "agent";

/** Kinds of work that are no work on software: such asks are measured against each other. */
const chatKinds: ReadonlySet<TaskKind> = new Set(["OTHER", "SUMMARIZE", "CLASSIFY", "RESEARCH", "PUBLIC_REVIEW"]);

/**
 * The scale for a task inferred from a conversation: by what is asked, not by who asks. The same words have to come out the
 * same in any envelope, with tools and without.
 */
export function scaleFor(kind: TaskKind): ScoreScale {
  return chatKinds.has(kind) ? "chat" : "agent";
}

/** Pairs of points and score, both rising strictly; linear between them. */
type Knots = readonly (readonly [points: number, score: number])[];

/**
 * Points up to 25 are the score itself. 35 and 60 points are the shipped thresholds: in the middle of the scale a stated task
 * asks for as much care as an inferred one with that score.
 */
const declaredKnots: Knots = [
  [0, 0],
  [25, 25],
  [35, 90],
  [60, 97],
  [100, 100],
];

const knotsOf: Readonly<Record<ScoreScale, Knots>> = { declared: declaredKnots, chat: chatKnots, agent: agentKnots };

/** The score of that many points, 0..100; it never falls when the points rise. */
export function onScale(points: number, scale: ScoreScale): number {
  const knots = knotsOf[scale];
  let low = 0;
  let high = knots.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((knots[middle]?.[0] ?? 0) <= points) low = middle;
    else high = middle;
  }
  const [x0, y0] = knots[low] ?? [0, 0];
  const [x1, y1] = knots[high] ?? [100, 100];
  return Math.min(100, Math.max(0, y0 + ((y1 - y0) * (points - x0)) / (x1 - x0)));
}
