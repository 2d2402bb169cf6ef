import type { ApiHandlers } from "./api/handlers.ts";
import { LedgerSnapshots } from "./api/ledger-snapshots.ts";
import { readableRecords } from "./api/readable-records.ts";
import { actionsHandler } from "./endpoints/actions.ts";
import { backtestHandler } from "./endpoints/backtest.ts";
import { budgetsHandler, capHandler } from "./endpoints/budgets.ts";
import { decisionHandler, decisionsHandler, liveHandler } from "./endpoints/decisions.ts";
import { holdsHandler, releaseHandler, settleHandler } from "./endpoints/holds.ts";
import { modelsHandler, overrideHandler } from "./endpoints/models.ts";
import { policyCheckHandler, policyHandler } from "./endpoints/policy.ts";
import { routeHandler } from "./endpoints/route.ts";
import { seriesHandler } from "./endpoints/series.ts";
import { sessionHandler } from "./endpoints/session.ts";
import { sessionsHandler } from "./endpoints/sessions.ts";
import { summaryHandler } from "./endpoints/summary.ts";
import type { DashboardSources } from "./sources.ts";

/** Every endpoint of the API. */
export function dashboardHandlers(given: DashboardSources): ApiHandlers {
  const sources = { ...given, records: readableRecords(given.records) };
  const ledgerSnapshots = new LedgerSnapshots(sources);
  return {
    "GET session": sessionHandler(sources),
    "GET summary": summaryHandler(sources, ledgerSnapshots),
    "GET decisions": decisionsHandler(sources),
    "GET decisions/live": liveHandler(sources),
    "GET decisions/{id}": decisionHandler(sources),
    "GET series": seriesHandler(sources),
    "GET budgets": budgetsHandler(sources, ledgerSnapshots),
    "POST budgets/{goal}/cap": capHandler(sources, ledgerSnapshots),
    "GET sessions": sessionsHandler(sources),
    "GET holds": holdsHandler(sources),
    "POST holds/{id}/settle": settleHandler(sources, ledgerSnapshots),
    "POST holds/{id}/release": releaseHandler(sources, ledgerSnapshots),
    "GET models": modelsHandler(sources),
    "POST models/{key}/disable": overrideHandler(sources, "disable"),
    "POST models/{key}/enable": overrideHandler(sources, "enable"),
    "POST models/{key}/reset": overrideHandler(sources, "reset"),
    "GET actions": actionsHandler(sources),
    "GET policy": policyHandler(sources),
    "POST policy/check": policyCheckHandler(sources),
    "POST policy/backtest": backtestHandler(sources),
    "POST route": routeHandler(sources),
  };
}
