import { type ApiHandler, ApiProblem } from "#dashboard/api/handlers.ts";
import type { DashboardSources } from "#dashboard/sources.ts";

/** `GET actions`: the audit log of operators. */
export function actionsHandler({ actions }: DashboardSources): ApiHandler<"GET actions"> {
  return async ({ query }) => {
    const listed = await actions.list(query.limit).catch(() => {
      throw new ApiProblem(503, "The audit log cannot be read now. Try again shortly.", "store_unavailable");
    });
    return { actions: listed.map(({ atMs, ...action }) => ({ at_ms: atMs, ...action })) };
  };
}
