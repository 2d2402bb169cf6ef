/** The value that `share` of the values are below; NaN without values. The values stay as they are. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Of an even number of values the larger of the middle two. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Processor time is only ever lengthened by other work on the machine, so the fast rounds say more than the median. */
export function lowerQuartile(values: readonly number[]): number {
  return quantile(values, 0.25);
}
