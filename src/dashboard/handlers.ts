import type { ApiHandlers } from "./api/handlers.ts";
import { sessionHandler } from "./api/session.ts";
import type { DashboardSources } from "./sources.ts";

/** Every endpoint of the API. */
export function dashboardHandlers(sources: DashboardSources): Partial<ApiHandlers> {
  return {
    "GET session": sessionHandler(sources),
  };
}
