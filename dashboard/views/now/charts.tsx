import type { AnswerOf, QueryOf } from "#dashboard/api.ts";
import type { CapUse, Pace } from "#dashboard/ledger-view.ts";
import { usePrefetchedRead, useRead } from "../../api/queries.ts";
import { Chart } from "../../chart/chart.tsx";
import type { Plot, Series } from "../../chart/plot.ts";
import { coarser, running } from "../../chart/sums.ts";
import { Money } from "../../components/marks.tsx";
import { Loaded } from "../../components/parts.tsx";
import { count, duration, money, utcDay } from "../../format.ts";
import { DecisionsLink, go, type Place, rangeOf, usePlace, withSearch, zoneOf } from "../../router.tsx";

type Summary = AnswerOf<"GET summary">;

type Answer = AnswerOf<"GET series">;
type Query = QueryOf<"GET series">;

const spendToday: Query = { metric: "cost_nano_usd", by: "tier", range: "today" };
const requestsByOutcome = (place: Place): Query => ({ metric: "requests", by: "outcome", ...rangeOf(place) });
const firstToken = (share: "p50" | "p95", place: Place): Query => ({
  metric: `first_token_${share}_ms`,
  by: "none",
  ...rangeOf(place),
});

/** Begins to read the series of all charts at once: the charts are not there before the summary is. */
export function usePrefetchedSeries(place: Place): void {
  usePrefetchedRead("GET series", spendToday);
  usePrefetchedRead("GET series", requestsByOutcome(place));
  usePrefetchedRead("GET series", firstToken("p50", place));
  usePrefetchedRead("GET series", firstToken("p95", place));
}

function useSeries(query: Query) {
  return useRead("GET series", { query }, 15_000);
}

const tiers = ["free", "flash", "pro", "emergency"] as const;

/** The spend of the UTC day so far, stacked by tier, against the day's caps; its pace leads on, dotted. */
export function SpendToday({ summary }: { readonly summary: Summary }) {
  const zone = zoneOf(usePlace());
  return (
    <Loaded query={useSeries(spendToday)} what="the day's spend" height={260}>
      {(data) => (
        <Chart title={`Spent on UTC day ${utcDay(summary.at_ms)}`} plot={{ ...spendPlot(data, summary), zone }} />
      )}
    </Loaded>
  );
}

function spendPlot(data: Answer, summary: Summary): Omit<Plot, "zone"> {
  const { day } = summary.caps;
  const ends = data.at_ms.map((at) => Math.min(at + data.step_ms, summary.at_ms));
  const known = ends.filter((end, index) => index === 0 || end > (ends[index - 1] ?? 0)).length;
  const start = data.at_ms[0] ?? data.range.from_ms;
  const lines = tiers.flatMap((tier): Series[] => {
    const { values = [], total = 0 } = data.groups.find(({ name }) => name === tier) ?? {};
    if (total === null || total === 0) return [];
    const legend = (
      <DecisionsLink key={tier} filter={{ tier }} range={data.range}>
        <Money nano={total} />
      </DecisionsLink>
    );
    const sums = running(values.slice(0, known), ends, summary.at_ms);
    return [{ name: tier, line: `--${tier}`, fill: `--${tier}-fill`, values: [0, ...sums], legend }];
  });
  const total = lines.reduce((sum, { values }) => sum + (values[known] ?? 0), 0);
  const ahead = projection(summary, total);
  const atMs = [start, ...ends.slice(0, known), ...ahead.map(({ atMs }) => atMs)];
  const pace = [...ends.slice(0, known).map(() => null), total, ...ahead.map(({ nano }) => nano)];
  const limits = [
    { name: `hard cap ${money(day.hard_nano_usd)}`, value: day.hard_nano_usd },
    { name: `soft cap ${money(day.soft_nano_usd)}`, value: day.soft_nano_usd },
  ].flatMap(({ name, value }) => (value === null ? [] : [{ name, value }]));
  const series = lines.map((line) => ({ ...line, values: [...line.values, ...ahead.map(() => null)] }));
  const pacing = { name: "at this pace", line: "--muted", dotted: true, values: pace };
  return { atMs, series: [...series, pacing], limits, stack: true, format: money };
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

/** Requests by outcome and the time to the first token, over the range. */
export function RequestCharts() {
  return (
    <div className="columns">
      <Requests />
      <FirstToken />
    </div>
  );
}

function zoom(place: Place): (fromMs: number, toMs: number) => void {
  return (from, to) => go(withSearch(place, { from_ms: String(from), to_ms: String(to), range: undefined }));
}

/** Four lines. Outcomes that call for the same action share one. */
const lines = [
  { name: "answered", outcomes: ["answered"], line: "--flash", fill: "--flash-fill" },
  { name: "caller gone", outcomes: ["caller_gone"], line: "--free", fill: "--free-fill" },
  { name: "refused", outcomes: ["refused"], line: "--emergency", fill: "--emergency-fill" },
  { name: "failed", outcomes: ["failed", "broken_stream"], line: "--bad", fill: "--bad" },
] as const;

function Requests() {
  const place = usePlace();
  return (
    <Loaded query={useSeries(requestsByOutcome(place))} what="the requests" height={260}>
      {(data) => {
        const sums = coarser(data);
        const series = lines.flatMap(({ outcomes, ...line }) => {
          const values = together(sums, outcomes);
          const total = values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
          const legend = (
            <DecisionsLink key={line.name} filter={{ outcome: outcomes.join(",") }} range={data.range}>
              {count(total)}
            </DecisionsLink>
          );
          return total > 0 ? [{ ...line, values, legend }] : [];
        });
        const shape = { limits: [], stack: true, zone: zoneOf(place), format: count };
        const plot = { atMs: sums.at_ms, stepMs: sums.step_ms, series, ...shape };
        return <Chart title="Requests" plot={plot} onRange={zoom(place)} />;
      }}
    </Loaded>
  );
}

/** The values of some groups together. A step of the past without any had none; what is to come is a gap. */
function together({ at_ms, groups }: ReturnType<typeof coarser>, names: readonly string[]): (number | null)[] {
  const named = groups.filter(({ name }) => names.includes(name));
  const now = Date.now();
  return at_ms.map((at, index) => {
    if (at > now) return null;
    return named.reduce((sum, { values }) => sum + (values[index] ?? 0), 0);
  });
}

function FirstToken() {
  const place = usePlace();
  const half = useSeries(firstToken("p50", place));
  const most = useSeries(firstToken("p95", place));
  return (
    <Loaded query={half} what="the first-token times" height={260}>
      {(data) => {
        const values = (answer: Answer | undefined) =>
          data.at_ms.map((_, index) => answer?.groups[0]?.values[index] ?? null);
        const series = [
          { name: "half within", line: "--flash", swatch: "--flash-fill", values: values(data), legend: "" },
          { name: "95 % within", line: "--pro", swatch: "--pro-fill", values: values(most.data), legend: "" },
        ];
        const plot = { atMs: data.at_ms, series, limits: [], stack: false, zone: zoneOf(place), format: duration };
        return <Chart title="First token" plot={plot} onRange={zoom(place)} />;
      }}
    </Loaded>
  );
}
