import { type ReactNode, useEffect, useEffectEvent, useId, useRef, useState } from "react";
import uPlot from "uplot";
import { figures, Headings } from "../components/table.tsx";
import { useShownTheme } from "../components/theme.ts";
import { isoTime, minuteTime } from "../format/time.ts";
import { dataOf, optionsOf, type Plot } from "./plot.ts";

interface Props {
  readonly title: string;
  readonly plot: Plot;
  /** Beside the title: what the series are, with their sums. */
  readonly aside?: ReactNode;
  readonly onRange?: (fromMs: number, toMs: number) => void;
}

const plotHeight = 200;

/** A time series, and the same as a table. */
export function Chart({ title, plot, aside, onRange }: Props) {
  const [asTable, setAsTable] = useState(false);
  const id = useId();
  return (
    <figure className="chart" aria-labelledby={id}>
      <figcaption>
        <h2 id={id}>{title}</h2>
        {aside !== undefined && <span className="keys">{aside}</span>}
        <button type="button" className="plain" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          as table
          <span className="hidden">: {title}</span>
        </button>
      </figcaption>
      {asTable ? <PlotTable title={title} plot={plot} /> : <Canvas title={title} plot={plot} onRange={onRange} />}
    </figure>
  );
}

interface CanvasProps extends Pick<Props, "title" | "plot"> {
  readonly onRange: Props["onRange"];
}

function Canvas({ title, plot, onRange }: CanvasProps) {
  const host = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<number | null>(null);
  const theme = useShownTheme();
  const range = useEffectEvent((from: number, to: number) => onRange?.(from, to));
  const shape = JSON.stringify([plot, onRange !== undefined, theme, plot.format(1)]);
  const drawn = useEffectEvent((element: HTMLElement) => {
    const width = element.clientWidth;
    const options = optionsOf(plot, width, plotHeight, {
      onCursor: setAt,
      onRange: onRange === undefined ? undefined : (from, to) => range(from, to),
    });
    return new uPlot(options, dataOf(plot), element);
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

function readout(plot: Plot, index: number): string {
  const ms = plot.atMs[index];
  if (ms === undefined) return " ";
  const parts = plot.series.flatMap(({ name, values }) => {
    const value = values[index] ?? null;
    return value === null ? [] : [`${name} ${plot.format(value)}`];
  });
  return [minuteTime(ms, Date.now(), plot.zone), ...parts].join(" · ");
}

function PlotTable({ title, plot }: Pick<Props, "title" | "plot">) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className="scroll plot-table" tabIndex={0} aria-label={`${title}: table`}>
      <table>
        <Headings columns={["time", ...plot.series.map(({ name }) => figures(name))]} />
        <tbody>
          {plot.atMs.map((ms, index) => (
            <tr key={ms}>
              <th scope="row" title={isoTime(ms, plot.zone)}>
                {minuteTime(ms, Date.now(), plot.zone)}
              </th>
              {plot.series.map(({ name, values }) => (
                <td key={name} className="number">
                  {values[index] === null || values[index] === undefined ? "–" : plot.format(values[index])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
