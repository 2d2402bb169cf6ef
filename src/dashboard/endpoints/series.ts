import type { ApiHandler } from "#dashboard/api/handlers.ts";
import { rangeOf, timeRangeOf } from "#dashboard/api/range.ts";
import { noValue } from "#dashboard/schema/shared.ts";
import type { DashboardSources } from "#dashboard/sources.ts";
import type { RecordSeries, SeriesMetric } from "#records/records.ts";

const maxPoints = 400;
/** Lines of their own; what is left over is one more. */
const maxGroups = 8;

/** `GET series`: a metric over time, from the roll-ups. */
export function seriesHandler({ clock, records }: DashboardSources): ApiHandler<"GET series"> {
  return async ({ query }) => {
    const range = rangeOf(query, clock.now());
    const { metric, by } = query;
    const series = await records.series({
      metric,
      range: timeRangeOf(range),
      maxPoints: maxPoints,
      ...(by === "none" ? {} : { by }),
    });
    return { range, metric, by, step_ms: series.bucket_ms, at_ms: [...series.at_ms], groups: groupsOf(series, metric) };
  };
}

/** The largest lines; the others together where their sum means something. */
function groupsOf({ lines }: RecordSeries, metric: SeriesMetric) {
  const isSum = !metric.startsWith("first_token");
  const groups = lines
    .map(({ key, values }) => {
      const total = values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
      return { name: key === "" ? noValue : key, values: [...values], total: isSum ? total : null, weight: total };
    })
    .sort((a, b) => b.weight - a.weight || (a.name < b.name ? -1 : 1));
  const [shown, rest] = [groups.slice(0, maxGroups), groups.slice(maxGroups)];
  const [first] = rest;
  if (isSum && first !== undefined) {
    const values = first.values.map((_, at) => sumOf(rest.map((group) => group.values[at] ?? null)));
    const total = rest.reduce((sum, group) => sum + (group.total ?? 0), 0);
    shown.push({ name: "other", values, total, weight: 0 });
  }
  return shown.map(({ name, values, total }) => ({ name, values, total }));
}

function sumOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}
