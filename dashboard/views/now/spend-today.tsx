import type { AnswerOf } from "#dashboard/api-schema.ts";
import { useRead } from "../../api/queries.ts";
import { Chart } from "../../chart/chart.tsx";
import type { Plot, Series } from "../../chart/plot.ts";
import { running } from "../../chart/stack.ts";
import { Loaded } from "../../components/loaded.tsx";
import { Money } from "../../components/marks.tsx";
import { money } from "../../format/money.ts";
import { utcDay, type Zone } from "../../format/time.ts";
import { Link } from "../../router/link.tsx";
import { usePlace } from "../../router/location.ts";
import { decisionsHref, zoneOf } from "../../router/state.ts";
import { spendToday } from "./series.ts";
import type { Summary } from "./summary.ts";

const tiers = ["free", "flash", "pro", "emergency"] as const;

/** The spend of the UTC day so far, stacked by tier, against the day's caps; its pace leads on, dotted. */
export function SpendToday({ summary }: { readonly summary: Summary }) {
  const place = usePlace();
  const series = useRead("GET series", { query: spendToday }, 15_000);
  return (
    <Loaded query={series} what="the day's spend" height={260}>
      {(data) => (
        <Chart
          title={`Spent on UTC day ${utcDay(summary.at_ms)}`}
          plot={plotOf(data, summary, zoneOf(place))}
          aside={tiers.map((tier) => {
            const total = data.groups.find(({ name }) => name === tier)?.total ?? 0;
            if (total === 0) return null;
            return (
              <span className="key" key={tier}>
                <i className={`fill-${tier}`} />
                {tier}{" "}
                <Link href={decisionsHref({ tier }, place, data.range)}>
                  <Money nano={total} />
                </Link>
              </span>
            );
          })}
        />
      )}
    </Loaded>
  );
}

function plotOf(data: AnswerOf<"GET series">, summary: Summary, zone: Zone): Plot {
  const { day } = summary.caps;
  const ends = data.at_ms.map((at) => Math.min(at + data.step_ms, summary.at_ms));
  const known = ends.filter((end, index) => index === 0 || end > (ends[index - 1] ?? 0)).length;
  const start = data.at_ms[0] ?? data.range.from_ms;
  const lines: Series[] = tiers.flatMap((tier) => {
    const group = data.groups.find(({ name }) => name === tier);
    if (group === undefined || (group.total ?? 0) === 0) return [];
    const sums = running(group.values.slice(0, known), ends, summary.at_ms);
    return [{ name: tier, line: `--${tier}`, fill: `--${tier}-fill`, values: [0, ...sums] }];
  });
  const total = lines.reduce((sum, { values }) => sum + (values[known] ?? 0), 0);
  const ahead = projectionOf(summary, total);
  const atMs = [start, ...ends.slice(0, known), ...ahead.map(({ atMs }) => atMs)];
  const projection = [...ends.slice(0, known).map(() => null), total, ...ahead.map(({ nano }) => nano)];
  const limits = [
    { name: `hard cap ${money(day.hard_nano_usd)}`, value: day.hard_nano_usd },
    { name: `soft cap ${money(day.soft_nano_usd)}`, value: day.soft_nano_usd },
  ].flatMap(({ name, value }) => (value === null ? [] : [{ name, value }]));
  const pacing: Series = { name: "at this pace", line: "--muted", dotted: true, values: projection };
  const series = lines.map((line) => ({ ...line, values: [...line.values, ...ahead.map(() => null)] }));
  return { atMs, series: [...series, pacing], limits, stack: true, zone, format: money };
}

/** Where the pace leads: to the end of the day, or to the hard cap and no further, because requests are refused there. */
export function projectionOf(
  { at_ms, caps: { pace, day } }: Pick<Summary, "at_ms"> & { readonly caps: Pick<Summary["caps"], "pace" | "day"> },
  total: number,
): { readonly atMs: number; readonly nano: number }[] {
  const end = pace.day_ends_at_ms;
  if (pace.runs_out_at_ms === null || day.hard_nano_usd === null) {
    return [{ atMs: end, nano: Math.max(total, pace.forecast_nano_usd) }];
  }
  const nano = Math.max(total, day.hard_nano_usd);
  const out = Math.max(pace.runs_out_at_ms, at_ms + 1);
  return out < end
    ? [
        { atMs: out, nano },
        { atMs: end, nano },
      ]
    : [{ atMs: end, nano }];
}
