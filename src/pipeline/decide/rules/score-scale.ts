import { sharePoints } from "./score-shares.ts";

/** Pairs of points and score, both rising strictly; linear between them. */
type Knots = readonly (readonly [points: number, score: number])[];

/**
 * Points up to 25 are the score itself. 35 and 60 points are the shipped thresholds: in the middle a stated task asks
 * for as much care as an inferred one with that score.
 */
const declaredKnots: Knots = [
  [0, 0],
  [25, 25],
  [35, 90],
  [60, 97],
  [100, 100],
];

/** The share of public asks with fewer points. */
const shareKnots: Knots = [...sharePoints.map((points, share) => [points, share] as const), [100, 100]];

/** The score of that many points, 0..100; it never falls when the points rise. */
export function onScale(points: number, scale: "declared" | "chat"): number {
  return interpolated(scale === "declared" ? declaredKnots : shareKnots, points);
}

/** The score that belongs to a value, 0..100; linear between the knots and beyond them. */
function interpolated(knots: Knots, value: number): number {
  let low = 0;
  let high = knots.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((knots[middle]?.[0] ?? 0) <= value) low = middle;
    else high = middle;
  }
  const [x0, y0] = knots[low] ?? [0, 0];
  const [x1, y1] = knots[high] ?? [100, 100];
  return Math.min(100, Math.max(0, y0 + ((y1 - y0) * (value - x0)) / (x1 - x0)));
}
