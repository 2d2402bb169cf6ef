/** The vertical scale of a chart. It begins at 0; all values are whole numbers of their unit (requests, milliseconds, nano-dollars). */

/**
 * Where the scale ends. A limit is in it once a fifth of it is used; below that, the scale follows the values. Without a value
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
