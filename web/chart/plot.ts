import uPlot from "uplot";
import { colour } from "../components/theme.ts";
import { dayMs, dayName, minuteTime, type Zone } from "../format.ts";

/** What a chart shows, and the options of uPlot that follow from it. */

/** Values of one series, a value for each time; null where there is none. */
export type Values = readonly (number | null)[];

export interface Series {
  readonly name: string;
  readonly values: Values;
  /** Custom property of its line, `--pro`, and of the area below it; absent: a line alone. */
  readonly line: string;
  readonly fill?: string | undefined;
  /** Beside its name above the chart; without it, the series is not named there. */
  readonly legend?: React.ReactNode;
}

export interface Plot {
  readonly atMs: readonly number[];
  /** Filled series stand on top of each other. */
  readonly series: readonly Series[];
  /** Each value is the sum of this many milliseconds from its point on, and is drawn as a bar of that width. */
  readonly stepMs?: number;
  readonly zone: Zone;
  readonly format: (value: number) => string;
}

/** Each series on top of those before it. Where none of them has a value there is a gap. */
export function stacked(series: readonly Values[]): (number | null)[][] {
  const sums: (number | null)[] = [];
  return series.map((values) => {
    for (const [at, value] of values.entries())
      sums[at] = value === null ? (sums[at] ?? null) : (sums[at] ?? 0) + value;
    return [...sums];
  });
}

/** Bars that are stacked are drawn from the highest on, each over the one before it. */
function drawnOrder<T>({ stepMs }: Plot, series: readonly T[]): T[] {
  return stepMs === undefined ? [...series] : series.toReversed();
}

/** Filled series stacked, the others as they are. */
export function plotData(plot: Plot): uPlot.AlignedData {
  const filled = plot.series.filter(({ fill }) => fill !== undefined);
  const sums = stacked(filled.map(({ values }) => values));
  const heights = plot.series.map((series) => sums[filled.indexOf(series)] ?? [...series.values]);
  return [[...plot.atMs], ...drawnOrder(plot, heights)];
}

/** Where the vertical scale ends; it begins at 0. */
export function scaleTop(highest: number | null): number {
  return highest !== null && highest > 0 ? highest * 1.08 : 1;
}

export function plotOptions(
  plot: Plot,
  size: { readonly width: number; readonly height: number },
  onCursor: (index: number | null) => void,
  onRange: ((fromMs: number, toMs: number) => void) | undefined,
): uPlot.Options {
  const { series, stepMs, zone } = plot;
  const font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const axis = { stroke: colour("--muted"), font, ticks: { show: false }, gap: 6 };
  const isEmpty = series.every(({ values }) => values.every((value) => !value));
  const inStack = series.flatMap(({ fill }, index) => (fill === undefined ? [] : [index + 1]));
  const bands = inStack.slice(1).map((at, below) => ({ series: [at, inStack[below] ?? 0] as uPlot.Band.Bounds }));
  return {
    ...size,
    ms: 1,
    legend: { show: false },
    padding: [16, 28, 0, 0],
    tzDate: (ms) => (zone === "utc" ? uPlot.tzDate(new Date(ms), "Etc/UTC") : new Date(ms)),
    scales: {
      x: { time: true, range: (_, from, to) => [from, to + (stepMs ?? 0)] },
      y: { range: (_, __, highest) => [0, scaleTop(highest)] },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 26, space: 72, values: (_, splits) => timeLabels(splits, zone) },
      {
        ...axis,
        grid: { stroke: colour("--line"), width: 1 },
        // As wide as its longest label: small amounts have many digits.
        size: (_, labels) => 16 + 7 * Math.max(5, ...(labels ?? []).map((label) => label.length)),
        space: 40,
        // Where the chart shows nothing, only the 0 has a label.
        values: (_, splits) => splits.map((value) => (isEmpty && value > 0 ? "" : plot.format(value))),
      },
    ],
    series: [{}, ...drawnOrder(plot, series).map((each) => lineOptions(each, stepMs !== undefined))],
    bands: stepMs === undefined ? bands : [],
    cursor: { y: false, points: { size: 6 }, drag: { x: onRange !== undefined, y: false, setScale: false } },
    hooks: {
      setCursor: [({ cursor }) => onCursor(cursor.idx ?? null)],
      setSelect: [
        (plotted) => {
          const { left, width } = plotted.select;
          if (width < 8) return;
          plotted.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          onRange?.(Math.round(plotted.posToVal(left, "x")), Math.round(plotted.posToVal(left + width, "x")));
        },
      ],
    },
  };
}

function lineOptions({ name, line, fill }: Series, asBars: boolean): uPlot.Series {
  const paths = asBars ? uPlot.paths.bars?.({ size: [1, Number.POSITIVE_INFINITY], align: 1 }) : undefined;
  const alone = { show: true, size: 4, filter: (plotted: uPlot, at: number) => isolated(plotted.data[at] ?? []) };
  return {
    label: name,
    stroke: colour(line),
    width: asBars ? 0 : 1.5,
    points: asBars ? { show: false } : alone,
    spanGaps: false,
    ...(paths === undefined ? {} : { paths }),
    ...(fill === undefined ? {} : { fill: colour(fill) }),
  };
}

/** Values between two gaps, which a line alone would not show. */
function isolated(values: ArrayLike<number | null | undefined>): number[] {
  const has = (index: number): boolean => (values[index] ?? null) !== null;
  return Array.from(values, (_, index) => index).filter((at) => has(at) && !has(at - 1) && !has(at + 1));
}

function timeLabels(splits: readonly number[], zone: Zone): string[] {
  const step = (splits[1] ?? 0) - (splits[0] ?? 0);
  return splits.map((ms) => {
    const minute = minuteTime(ms, ms, zone);
    return step >= dayMs || minute === "00:00" ? dayName(ms, zone) : minute;
  });
}
