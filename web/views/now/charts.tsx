import type { AnswerOf, QueryOf } from "#dashboard/api.ts";
import type { DecisionFilter } from "#operator/query.ts";
import { useRead } from "../../api/queries.ts";
import { Chart } from "../../chart/chart.tsx";
import type { Series } from "../../chart/plot.ts";
import { Select } from "../../components/frame.tsx";
import { Loaded } from "../../components/parts.tsx";
import { count, dayMs, duration, money, share } from "../../format.ts";
import { DecisionsLink, go, rangeOf, usePlace, withSearch, zoneOf } from "../../router.tsx";

type Summary = AnswerOf<"GET summary">;

function useSeries(query: QueryOf<"GET series">) {
  return useRead("GET series", { query }, 15_000);
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
