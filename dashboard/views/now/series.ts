import type { QueryOf } from "#dashboard/api-schema.ts";
import { usePrefetchedRead } from "../../api/queries.ts";
import type { Place } from "../../router/location.ts";
import { rangeOf } from "../../router/state.ts";

type Query = QueryOf<"GET series">;

/** The series of the view's charts. */
export const spendToday: Query = { metric: "cost_nano_usd", by: "tier", range: "today" };
export const requestsByOutcome = (place: Place): Query => ({ metric: "requests", by: "outcome", ...rangeOf(place) });
export const firstToken = (share: "p50" | "p95", place: Place): Query => ({
  metric: `first_token_${share}_ms`,
  by: "none",
  ...rangeOf(place),
});

/** Begins to read them at once: the charts are not there before the summary is. */
export function usePrefetchedSeries(place: Place): void {
  usePrefetchedRead("GET series", spendToday);
  usePrefetchedRead("GET series", requestsByOutcome(place));
  usePrefetchedRead("GET series", firstToken("p50", place));
  usePrefetchedRead("GET series", firstToken("p95", place));
}
