import type { DecisionFilter, Range, rangeKeys } from "#dashboard/api-schema.ts";
import type { Zone } from "../format/time.ts";
import { href, type Place } from "./location.ts";

/** The part of the page's state that is in the query of its address. */

export type RangeKey = (typeof rangeKeys)[number];
export const ranges: Readonly<Record<RangeKey, string>> = {
  "1h": "last hour",
  "6h": "last 6 h",
  "24h": "last 24 h",
  today: "UTC day",
  "7d": "last 7 days",
  "30d": "last 30 days",
};
const defaultRange: RangeKey = "24h";

/** The range of an address: its two ends, else its name, else the last 24 hours. */
export function rangeOf({ search }: Place): Pick<DecisionFilter, "range" | "from_ms" | "to_ms"> {
  const from = wholeNumber(search.get("from_ms"));
  const to = wholeNumber(search.get("to_ms"));
  if (from !== undefined && to !== undefined && from < to) return { from_ms: from, to_ms: to };
  const named = search.get("range");
  return { range: isRangeKey(named) ? named : defaultRange };
}

export function isRangeKey(text: string | null): text is RangeKey {
  return text !== null && Object.hasOwn(ranges, text);
}

export function zoneOf({ search }: Place): Zone {
  return search.get("tz") === "utc" ? "utc" : "local";
}

/** The fields that a list of decisions can be limited by, in the words of the page. */
export const filterFields = {
  request_id: "request",
  goal: "goal",
  session: "session",
  cause: "cause",
  rule: "rule",
  kind: "kind",
  alias: "asked",
  model: "model",
  tier: "tier",
  outcome: "outcome",
  status: "status",
  refused_by: "refused by",
  error_class: "error",
  cost_state: "cost state",
  action: "action",
} as const satisfies Partial<Record<keyof DecisionFilter, string>>;
export type FilterField = keyof typeof filterFields;

export function filterOf(place: Place): DecisionFilter {
  const filter: Record<string, unknown> = { ...rangeOf(place) };
  for (const field of Object.keys(filterFields)) {
    const value = place.search.get(field);
    if (value !== null && value !== "") filter[field] = value;
  }
  return filter as DecisionFilter; // the server validates it: an address may hold anything
}

/** The query that is kept from view to view: range and zone, but no filter. */
export function carried({ search }: Place): Record<string, string | undefined> {
  const of = (name: string): string | undefined => search.get(name) ?? undefined;
  return { range: of("range"), from_ms: of("from_ms"), to_ms: of("to_ms"), tz: of("tz") };
}

/** The address of the list of decisions behind a number. Both have the same range. */
export function decisionsHref(filter: DecisionFilter, place: Place, range?: Range): string {
  const ends = range === undefined ? {} : { from_ms: String(range.from_ms), to_ms: String(range.to_ms) };
  const search: Record<string, string | undefined> = { ...ends };
  for (const [name, value] of Object.entries(filter)) if (value !== undefined) search[name] = String(value);
  return href("/decisions", { ...search, tz: place.search.get("tz") ?? undefined });
}

function wholeNumber(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
