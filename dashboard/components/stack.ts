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
