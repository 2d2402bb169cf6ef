import { type ReactNode, useEffect, useEffectEvent, useId, useRef, useState } from "react";
import uPlot from "uplot";
import { Export } from "../components/parts.tsx";
import { Table, type Written } from "../components/table.tsx";
import { useIsDark } from "../components/theme.ts";
import { isoTime, minuteTime } from "../format.ts";
import { type Plot, plotData, plotOptions } from "./plot.ts";

interface Props {
  readonly title: string;
  readonly plot: Plot;
  /** In the place of the heading's text: what chooses the chart. */
  readonly heading?: ReactNode;
  readonly onRange?: (fromMs: number, toMs: number) => void;
}

const height = 200;

/** A time series; the same as a table, and as a file. */
export function Chart({ title, plot, heading = title, onRange }: Props) {
  const [asTable, setAsTable] = useState(false);
  const id = useId();
  const { atMs, series } = plot;
  const file = () => [
    ["time", ...series.map(({ name }) => name)],
    ...atMs.map((ms, at) => [isoTime(ms, "utc"), ...series.map(({ values }) => values[at])]),
  ];
  return (
    <figure className="chart" aria-labelledby={id}>
      <figcaption className="row">
        <h2 id={id}>{heading}</h2>
        <span className="keys row">
          {series.map(({ name, line, fill = line, legend }) =>
            legend === undefined ? null : (
              <span className="key" key={name}>
                <i style={{ background: `var(${fill})` }} /> {name} {legend}
              </span>
            ),
          )}
        </span>
        <button type="button" className="plain" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          as table
          <span className="hidden">: {title}</span>
        </button>
        <Export name={title} rows={file} />
      </figcaption>
      {asTable ? <PlotTable title={title} plot={plot} /> : <Canvas title={title} plot={plot} onRange={onRange} />}
    </figure>
  );
}

function Canvas({ title, plot, onRange }: Omit<Props, "onRange"> & { readonly onRange: Props["onRange"] | undefined }) {
  const host = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<number | null>(null);
  const isDark = useIsDark();
  const shape = JSON.stringify([plot, isDark, plot.format(1)]);
  const draw = useEffectEvent((element: HTMLElement) => {
    const options = plotOptions(plot, { width: element.clientWidth, height }, setAt, onRange);
    return new uPlot(options, plotData(plot), element);
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` stands for all that is drawn
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const plotted = draw(element);
    const observer = new ResizeObserver(() => plotted.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plotted.destroy();
    };
  }, [shape]);
  return (
    <>
      <div ref={host} className="plot" role="img" aria-label={`${title}: chart. The same figures are in the table.`} />
      <p className="readout">{readout(plot, at) || " "}</p>
    </>
  );
}

function readout({ atMs, series, zone, format }: Plot, at: number | null): string {
  const ms = at === null ? undefined : atMs[at];
  if (ms === undefined || at === null) return "";
  const parts = series.flatMap(({ name, values }) => (values[at] == null ? [] : [`${name} ${format(values[at])}`]));
  return [minuteTime(ms, Date.now(), zone), ...parts].join(" · ");
}

function PlotTable({ title, plot: { atMs, series, zone, format } }: { readonly title: string; readonly plot: Plot }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className="plot-table" tabIndex={0} aria-label={`${title}: table`}>
      <Table
        caption={title}
        rows={atMs.map((ms, at) => ({ ms, at }))}
        rowKey={({ ms }) => ms}
        columns={[
          [
            "time",
            ({ ms }) => minuteTime(ms, Date.now(), zone),
            { kind: "heading", title: ({ ms }) => isoTime(ms, zone) },
          ],
          ...series.map(({ name, values }): Written<{ at: number }> => {
            return [name, ({ at }) => (values[at] == null ? "–" : format(values[at])), "figure"];
          }),
        ]}
      />
    </section>
  );
}
