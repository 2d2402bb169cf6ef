import type { ReactNode } from "react";
import uPlot from "uplot";
import { colour } from "../components/theme.ts";
import { dayMs, dayName, minuteTime, type Zone } from "../format.ts";
import { scaleLabels, scaleTop, stacked, type Values, wholeSteps } from "./sums.ts";

/** What a chart shows, and the options of uPlot that follow from it. */

export interface Series {
  readonly name: string;
  readonly values: Values;
  /** Custom property of its line, `--pro`. */
  readonly line: string;
  /** Custom property of the area below it; absent: a line alone. */
  readonly fill?: string;
  /** Custom property of its mark in the legend, where that is another one. */
  readonly swatch?: string;
  /** Beside its name above the chart; without it, the series is not named there. */
  readonly legend?: ReactNode;
  /** A projection is dotted. */
  readonly dotted?: boolean;
}

/** A limit, drawn as a line with its name. */
export interface Limit {
  readonly name: string;
  readonly value: number;
}

export interface Plot {
  readonly atMs: readonly number[];
  readonly series: readonly Series[];
  readonly limits: readonly Limit[];
  /** Filled series stand on top of each other. */
  readonly stack: boolean;
  /** Each value is the sum of this many milliseconds from its point on, and is drawn as a bar of that width. */
  readonly stepMs?: number;
  readonly zone: Zone;
  readonly format: (value: number) => string;
}

export interface PlotEvents {
  readonly onCursor: (index: number | null) => void;
  readonly onRange: ((fromMs: number, toMs: number) => void) | undefined;
}

/** Filled series stacked, the others as they are; in the order of `plot.series`. */
function heights(plot: Plot): (number | null)[][] {
  const filled = plot.series.filter(({ fill }) => fill !== undefined);
  const sums = plot.stack ? stacked(filled.map(({ values }) => values)) : filled.map(({ values }) => [...values]);
  return plot.series.map((series) => sums[filled.indexOf(series)] ?? [...series.values]);
}

export function plotData(plot: Plot): uPlot.AlignedData {
  return [[...plot.atMs], ...inDrawnOrder(plot, heights(plot))];
}

/** Bars that are stacked are drawn from the highest on, each over the one before it. */
function inDrawnOrder<T>({ stepMs }: Plot, series: readonly T[]): T[] {
  return stepMs === undefined ? [...series] : series.toReversed();
}

export function plotOptions(plot: Plot, width: number, height: number, events: PlotEvents): uPlot.Options {
  const muted = colour("--muted");
  const line = colour("--line");
  const font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const axis = { stroke: muted, font, grid: { stroke: line, width: 1 }, ticks: { show: false }, gap: 6 };
  const limits = plot.limits.map(({ value }) => value);
  const isEmpty =
    limits.every((value) => value === 0) && plot.series.every(({ values }) => values.every((value) => !value));
  const inStack = plot.series.flatMap(({ fill }, index) => (fill === undefined ? [] : [index + 1]));
  return {
    width,
    height,
    ms: 1,
    legend: { show: false },
    padding: [16, 28, 0, 0],
    tzDate: (ms) => (plot.zone === "utc" ? uPlot.tzDate(new Date(ms), "Etc/UTC") : new Date(ms)),
    scales: {
      x: { time: true, range: (_, from, to) => [from, to + (plot.stepMs ?? 0)] },
      y: { range: (_, __, highest) => [0, scaleTop(highest, limits)] },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 26, space: 72, values: (_, splits) => timeLabels(splits, plot.zone) },
      {
        ...axis,
        size: 64,
        space: 40,
        incrs: [...wholeSteps],
        values: (_, splits) => scaleLabels(splits, isEmpty, plot.format),
      },
    ],
    series: [{}, ...inDrawnOrder(plot, plot.series).map((series) => lineOptions(series, plot.stepMs !== undefined))],
    bands:
      plot.stack && plot.stepMs === undefined
        ? inStack.slice(1).map((index, below) => ({ series: [index, inStack[below] ?? 0] as uPlot.Band.Bounds }))
        : [],
    cursor: {
      y: false,
      points: { size: 6 },
      drag: { x: events.onRange !== undefined, y: false, setScale: false },
    },
    hooks: {
      setCursor: [(plotted) => events.onCursor(plotted.cursor.idx ?? null)],
      setSelect: [(plotted) => select(plotted, events)],
      draw: [(plotted) => drawLimits(plotted, plot.limits, font)],
    },
  };
}

function lineOptions(series: Series, asBars: boolean): uPlot.Series {
  const paths = asBars ? uPlot.paths.bars?.({ size: [1, Number.POSITIVE_INFINITY], align: 1 }) : undefined;
  return {
    ...(paths === undefined ? {} : { paths }),
    label: series.name,
    stroke: colour(series.line),
    width: asBars ? 0 : 1.5,
    points: asBars
      ? { show: false }
      : { show: true, size: 4, filter: (plotted, index) => isolated(plotted.data[index] ?? []) },
    spanGaps: false,
    ...(series.fill === undefined ? {} : { fill: colour(series.fill) }),
    ...(series.dotted === true ? { dash: [2, 4] } : {}),
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

function select(plotted: uPlot, { onRange }: PlotEvents): void {
  const { left, width } = plotted.select;
  if (width < 8 || onRange === undefined) return;
  const from = Math.round(plotted.posToVal(left, "x"));
  const to = Math.round(plotted.posToVal(left + width, "x"));
  plotted.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  onRange(from, to);
}

function drawLimits(plotted: uPlot, limits: readonly Limit[], font: string): void {
  const { ctx, bbox } = plotted;
  const ratio = devicePixelRatio;
  const stroke = colour("--text");
  for (const [index, { name, value }] of limits.entries()) {
    const y = Math.round(plotted.valToPos(value, "y", true)) + 0.5;
    if (y < bbox.top) continue;
    ctx.save();
    ctx.strokeStyle = stroke;
    ctx.fillStyle = stroke;
    ctx.lineWidth = ratio;
    ctx.textAlign = index % 2 === 0 ? "left" : "right"; // names of lines that are close do not meet
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.font = font.replace("12px", `${12 * ratio}px`);
    ctx.textBaseline = "bottom";
    ctx.fillText(name, index % 2 === 0 ? bbox.left + 4 * ratio : bbox.left + bbox.width - 4 * ratio, y - 2 * ratio);
    ctx.restore();
  }
}
