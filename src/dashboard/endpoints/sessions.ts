import type { ApiHandler } from "#dashboard/api/handlers.ts";
import { rangeOf, timeRangeOf } from "#dashboard/api/range.ts";
import { countedIn } from "#dashboard/api/sums.ts";
import type { DashboardSources } from "#dashboard/sources.ts";

const maxSessions = 100;

/** `GET sessions`: what the callers' sessions of a range have asked and cost, highest cost first. */
export function sessionsHandler({ clock, records }: DashboardSources): ApiHandler<"GET sessions"> {
  return async ({ query }) => {
    const nowMs = clock.now();
    const range = rangeOf(query, nowMs);
    const groups = await records.groups("session", timeRangeOf(range), maxSessions + 1);
    const counted = countedIn(range);
    return {
      at_ms: nowMs,
      range,
      sessions: groups.slice(0, maxSessions).map((group) => {
        const sums = counted(group, { session: group.key });
        return {
          session: group.key,
          ...sums,
          refused: { requests: group.refused, filter: { ...sums.filter, outcome: "refused" } },
          prompt_tokens: group.prompt_tokens,
          cached_tokens: group.cached_tokens,
          completion_tokens: group.completion_tokens,
          last_ms: group.last_ms,
        };
      }),
      more: groups.length > maxSessions,
    };
  };
}
