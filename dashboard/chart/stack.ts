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
