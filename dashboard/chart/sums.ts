/** The sums that charts show, and the scale that they are shown on. */

/** Values of one series, a value for each time; null where there is none. */
export type Values = readonly (number | null)[];

/** Each series on top of those before it. Where none of them has a value there is a gap. */
export function stacked(series: readonly Values[]): (number | null)[][] {
  const length = Math.max(0, ...series.map((values) => values.length));
  const sums: (number | null)[] = Array.from({ length }, () => null);
  return series.map((values) => {
    for (let at = 0; at < length; at += 1) {
      const value = values[at] ?? null;
      if (value !== null) sums[at] = (sums[at] ?? 0) + value;
    }
    return [...sums];
  });
}

/** The sum so far at each time, up to `until`: from there on nothing is known. */
export function running(values: Values, at: readonly number[], until: number): (number | null)[] {
  let sum = 0;
  return values.map((value, index) => {
    sum += value ?? 0;
    return (at[index] ?? Number.POSITIVE_INFINITY) <= until ? sum : null;
  });
}

const minuteMs = 60_000;
const steps = [1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 360, 720, 1_440].map((minutes) => minutes * minuteMs);

interface Sums {
  readonly step_ms: number;
  readonly at_ms: readonly number[];
  readonly groups: readonly { readonly name: string; readonly values: Values }[];
}

/** Sums over longer steps, so that a chart has about a hundred points, few of them empty. */
export function coarser(sums: Sums, mostPoints = 100): Sums {
  const wanted = (sums.at_ms.length * sums.step_ms) / mostPoints;
  const step = steps.find((step) => step >= wanted && step > sums.step_ms && step % sums.step_ms === 0);
  if (step === undefined || sums.at_ms.length <= mostPoints) return sums;
  const starts = sums.at_ms.map((at) => Math.floor(at / step) * step);
  const at = [...new Set(starts)];
  const groups = sums.groups.map(({ name, values }) => {
    const together = new Map<number, number | null>();
    for (const [index, start] of starts.entries()) {
      const value = values[index] ?? null;
      const sum = together.get(start) ?? null;
      together.set(start, value === null ? sum : (sum ?? 0) + value);
    }
    return { name, values: at.map((start) => together.get(start) ?? null) };
  });
  return { step_ms: step, at_ms: at, groups };
}

/**
 * Where the vertical scale ends; it begins at 0. All values are whole numbers of their unit (requests, milliseconds, nano-dollars). A limit is in it once a fifth of it is used; below that, the scale follows the values. Without a value
 * above 0 the limits are all there is to show.
 */
export function scaleTop(highest: number | null, limits: readonly number[]): number {
  const seen = highest ?? 0;
  const near = limits.filter((value) => seen === 0 || seen >= value / 5);
  const most = Math.max(seen, ...near);
  return most > 0 ? most * 1.08 : 1;
}

/** The steps between two labels that may be chosen: no part of a request, and nothing below a nano-dollar. */
export const wholeSteps: readonly number[] = Array.from({ length: 16 }, (_, power) =>
  [1, 2, 2.5, 5].map((digit) => digit * 10 ** power),
)
  .flat()
  .filter(Number.isInteger);

/** The labels of the scale; where it shows nothing, only the one at 0. */
export function scaleLabels(splits: readonly number[], isEmpty: boolean, format: (value: number) => string): string[] {
  return splits.map((value) => (isEmpty && value > 0 ? "" : format(value)));
}
