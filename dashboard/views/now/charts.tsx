import type { AnswerOf, QueryOf } from "#dashboard/api.ts";
import type { CapUse, Pace } from "#dashboard/ledger-view.ts";
import type { DecisionFilter } from "#dashboard/query.ts";
import { useRead } from "../../api/queries.ts";
import { Chart } from "../../chart/chart.tsx";
import { type Plot, running, type Series } from "../../chart/plot.ts";
import { Select } from "../../components/frame.tsx";
import { Money } from "../../components/marks.tsx";
import { Loaded } from "../../components/parts.tsx";
import { count, dayMs, duration, money, share, utcDay } from "../../format.ts";
import { DecisionsLink, go, rangeOf, usePlace, withSearch, zoneOf } from "../../router.tsx";

type Answer = AnswerOf<"GET series">;
type Summary = AnswerOf<"GET summary">;

function useSeries(query: QueryOf<"GET series">) {
  return useRead("GET series", { query }, 15_000);
}

const tiers = ["free", "flash", "pro", "emergency"] as const;

/** The spend of the UTC day so far, stacked by tier, against the day's caps; its pace leads on, dotted. */
export function SpendToday({ summary }: { readonly summary: Summary }) {
  const zone = zoneOf(usePlace());
  const series = useSeries({ metric: "cost_nano_usd", by: "tier", range: "today" });
  return (
    <Loaded query={series} what="the day's spend" height={260}>
      {(data) => (
        <Chart title={`Spent on UTC day ${utcDay(summary.at_ms)}`} plot={{ ...spendPlot(data, summary), zone }} />
      )}
    </Loaded>
  );
}

function spendPlot(data: Answer, summary: Summary): Omit<Plot, "zone"> {
  const { day } = summary.caps;
  const ends = data.at_ms.map((at) => Math.min(at + data.step_ms, summary.at_ms));
  const known = ends.filter((end, index) => index === 0 || end > (ends[index - 1] ?? 0));
  const lines = tiers.flatMap((tier): Series[] => {
    const { values = [], total = 0 } = data.groups.find(({ name }) => name === tier) ?? {};
    if (total === null || total === 0) return [];
    const sums = running(values.slice(0, known.length), ends, summary.at_ms);
    const legend = (
      <DecisionsLink key="" filter={{ tier }} range={data.range}>
        <Money nano={total} />
      </DecisionsLink>
    );
    return [{ name: tier, line: `--${tier}`, fill: `--${tier}-fill`, values: [0, ...sums], legend }];
  });
  const total = lines.reduce((sum, { values }) => sum + (values[known.length] ?? 0), 0);
  const ahead = projection(summary, total);
  const gap = ahead.map(() => null);
  const pace = [...known.map(() => null), total, ...ahead.map(({ nano }) => nano)];
  return {
    atMs: [data.at_ms[0] ?? data.range.from_ms, ...known, ...ahead.map(({ atMs }) => atMs)],
    series: [
      ...lines.map((line) => ({ ...line, values: [...line.values, ...gap] })),
      { name: "at this pace", line: "--muted", dotted: true, values: pace },
    ],
    limits: (["hard", "soft"] as const).flatMap((name) => {
      const value = day[`${name}_nano_usd`];
      return value === null ? [] : [{ name: `${name} cap ${money(value)}`, value }];
    }),
    format: money,
  };
}

/** Where the pace leads: to the end of the day, or to the hard cap and no further, because requests are refused there. */
export function projection(
  { at_ms, caps: { pace, day } }: { at_ms: number; caps: { pace: Pace; day: Pick<CapUse, "hard_nano_usd"> } },
  total: number,
): { readonly atMs: number; readonly nano: number }[] {
  const end = pace.day_ends_at_ms;
  if (pace.runs_out_at_ms === null || day.hard_nano_usd === null) {
    return [{ atMs: end, nano: Math.max(total, pace.forecast_nano_usd) }];
  }
  const nano = Math.max(total, day.hard_nano_usd);
  const out = Math.max(pace.runs_out_at_ms, at_ms + 1);
  return [...(out < end ? [{ atMs: out, nano }] : []), { atMs: end, nano }];
}

interface Shown {
  readonly name: string;
  readonly metric: QueryOf<"GET series">["metric"];
  readonly by: "model" | "outcome" | "redaction" | "none";
  readonly format: (value: number) => string;
  /** Sums are stacked bars; others are lines. */
  readonly isSum: boolean;
}

const perSecond = (value: number): string => `${count(value)} / s`;
const percent = (value: number): string => share(value, 1);
const byModel = { by: "model" } as const;
const sums = { isSum: true } as const;
const line = { isSum: false } as const;

const spend: Shown = { name: "Spend", metric: "cost_nano_usd", format: money, ...byModel, ...sums };
const others: Readonly<Record<string, Shown>> = {
  tokens: { name: "Tokens", metric: "tokens", format: count, ...byModel, ...sums },
  requests: { name: "Requests", metric: "requests", by: "outcome", format: count, ...sums },
  cache: { name: "Read from the cache", metric: "cache_share", format: percent, ...byModel, ...line },
  failed: { name: "Failed calls", metric: "failed_share", format: percent, ...byModel, ...line },
  first: { name: "First token, half within", metric: "first_token_p50_ms", format: duration, ...byModel, ...line },
  slow: { name: "First token, 95 % within", metric: "first_token_p95_ms", format: duration, ...byModel, ...line },
  speed: { name: "Output tokens", metric: "output_tokens_per_s", format: perSecond, ...byModel, ...line },
  secrets: { name: "Secrets found", metric: "redactions", by: "redaction", format: count, ...sums },
};

/** What was spent over the range, by model; beside it another number of the range, which the address names. */
export function OverTime({ summary }: { readonly summary: Summary }) {
  const place = usePlace();
  const key = Object.keys(others).find((name) => name === place.search.get("chart")) ?? "tokens";
  const shown = others[key];
  const options = Object.entries(others).map(([name, chart]) => [name, chart.name] as const);
  const pick = (name: string) => go(withSearch(place, { chart: name }), true);
  return (
    <div className="columns">
      <RangeChart shown={spend} summary={summary} />
      {shown !== undefined && (
        <RangeChart
          shown={shown}
          summary={summary}
          heading={<Select label="Chart" value={key} options={options} onPick={pick} />}
        />
      )}
    </div>
  );
}

/** One hue a tier; of what has none, and of a second model of a tier, the others in their order. */
const hues = ["flash", "pro", "emergency", "free"] as const;

function RangeChart({ shown, summary, heading }: { shown: Shown; summary: Summary; heading?: React.ReactNode }) {
  const place = usePlace();
  const { metric, by, format, isSum, name } = shown;
  const range = rangeOf(place);
  const { from_ms, to_ms } = summary.range;
  // Hours, or days where there would be too many.
  const points = to_ms - from_ms > 8 * dayMs ? Math.ceil((to_ms - from_ms) / dayMs) : 170;
  return (
    <Loaded query={useSeries({ metric, by, points, ...range })} what={name.toLowerCase()} height={260}>
      {(data) => {
        const taken = new Set<string>();
        const series = data.groups.map(({ name: key, values, total }): Series => {
          const tier = summary.by_model.find(({ model }) => model === key)?.tier;
          const hue = [tier, ...hues].find((one) => one != null && !taken.has(one)) ?? "free";
          taken.add(hue);
          const filter: DecisionFilter = { [by]: key };
          // The list behind a link adds up to its number.
          const link = total !== null && key !== "other" && /^(cost|requests)/.test(metric);
          const legend = link ? (
            <DecisionsLink key="" filter={filter} range={data.range}>
              {format(total)}
            </DecisionsLink>
          ) : (
            ""
          );
          return { name: key, line: `--${hue}`, fill: isSum ? `--${hue}-fill` : undefined, values, legend };
        });
        const bars = isSum ? { stepMs: data.step_ms } : {};
        const plot = { atMs: data.at_ms, series, zone: zoneOf(place), format, ...bars };
        const zoom = (from: number, to: number) =>
          go(withSearch(place, { from_ms: String(from), to_ms: String(to), range: undefined }));
        return <Chart title={name} plot={plot} onRange={zoom} {...(heading === undefined ? {} : { heading })} />;
      }}
    </Loaded>
  );
}
