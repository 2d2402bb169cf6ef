import { useEffect, useEffectEvent, useId, useRef, useState } from "react";
import uPlot from "uplot";
import { PlainTable } from "../components/table.tsx";
import { useShownTheme } from "../components/theme.ts";
import { isoTime, minuteTime } from "../format.ts";
import { type Plot, plotData, plotOptions } from "./plot.ts";

interface Props {
  readonly title: string;
  readonly plot: Plot;
  readonly onRange?: (fromMs: number, toMs: number) => void;
}

const plotHeight = 200;

/** A time series, and the same as a table. */
export function Chart({ title, plot, onRange }: Props) {
  const [asTable, setAsTable] = useState(false);
  const id = useId();
  return (
    <figure className="chart" aria-labelledby={id}>
      <figcaption>
        <h2 id={id}>{title}</h2>
        <span className="keys">
          {plot.series.map(({ name, line, fill = line, swatch = fill, legend }) =>
            legend === undefined ? null : (
              <span className="key" key={name}>
                <i style={{ background: `var(${swatch})` }} /> {name} {legend}
              </span>
            ),
          )}
        </span>
        <button type="button" className="plain" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          as table
          <span className="hidden">: {title}</span>
        </button>
      </figcaption>
      {asTable ? (
        <PlotTable title={title} plot={plot} />
      ) : (
        <Canvas title={title} plot={plot} {...(onRange && { onRange })} />
      )}
    </figure>
  );
}

function Canvas({ title, plot, onRange }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<number | null>(null);
  const theme = useShownTheme();
  const range = useEffectEvent((from: number, to: number) => onRange?.(from, to));
  const { atMs, limits, stack, stepMs, zone } = plot;
  const series = plot.series.map(({ name, values, line, fill, dotted }) => [name, values, line, fill, dotted]);
  const shape = JSON.stringify([
    atMs,
    limits,
    stack,
    stepMs,
    zone,
    series,
    onRange !== undefined,
    theme,
    plot.format(1),
  ]);
  const drawn = useEffectEvent((element: HTMLElement) => {
    const options = plotOptions(plot, element.clientWidth, plotHeight, {
      onCursor: setAt,
      onRange: onRange === undefined ? undefined : (from, to) => range(from, to),
    });
    return new uPlot(options, plotData(plot), element);
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` stands for all that is drawn
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const plotted = drawn(element);
    const observer = new ResizeObserver(() => {
      if (element.clientWidth !== plotted.width) plotted.setSize({ width: element.clientWidth, height: plotHeight });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      plotted.destroy();
    };
  }, [shape]);
  return (
    <>
      <div ref={host} className="plot" role="img" aria-label={`${title}: chart. The same figures are in the table.`} />
      <p className="readout">{at === null ? " " : readout(plot, at)}</p>
    </>
  );
}

function readout({ atMs, series, zone, format }: Plot, index: number): string {
  const ms = atMs[index];
  if (ms === undefined) return " ";
  const parts = series.flatMap(({ name, values }) => {
    const value = values[index] ?? null;
    return value === null ? [] : [`${name} ${format(value)}`];
  });
  return [minuteTime(ms, Date.now(), zone), ...parts].join(" · ");
}

function PlotTable({ title, plot: { atMs, series, zone, format } }: { readonly title: string; readonly plot: Plot }) {
  const written = (value: number | null | undefined): string =>
    value === null || value === undefined ? "–" : format(value);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className="scroll plot-table" tabIndex={0} aria-label={`${title}: table`}>
      <PlainTable
        caption={title}
        rows={atMs.map((ms, index) => ({ ms, index }))}
        rowKey={({ ms }) => ms}
        columns={({ heading, figure }) => [
          heading("time", ({ ms }) => minuteTime(ms, Date.now(), zone), undefined, {
            title: ({ ms }) => isoTime(ms, zone),
          }),
          ...series.map(({ name, values }) => figure(name, ({ index }) => written(values[index]))),
        ]}
      />
    </section>
  );
}
