import type { z } from "zod";
import { operatingSchemas } from "./schema/operating.ts";
import { readingSchemas } from "./schema/reading.ts";

/**
 * Every endpoint under `/dashboard/api/`: the one description that the server validates with, the page takes its types from
 * and the reference is made of. `{…}` in a path is one segment, URL-encoded. The first that fits a call serves it.
 */
export const dashboardApi = { ...readingSchemas, ...operatingSchemas };

export type DashboardApi = typeof dashboardApi;
export type DashboardEndpoint = keyof DashboardApi;

/** What an endpoint answers; its events where it streams. */
export type AnswerOf<E extends DashboardEndpoint> = DashboardApi[E] extends {
  readonly [K in "answer" | "events"]?: infer S;
}
  ? S extends z.ZodType
    ? z.output<S>
    : never
  : never;

/** What a caller may write into the query. */
export type QueryOf<E extends DashboardEndpoint> = DashboardApi[E] extends { readonly query: infer S extends z.ZodType }
  ? z.input<S>
  : undefined;

/** What a caller sends as body. */
export type BodyOf<E extends DashboardEndpoint> = DashboardApi[E] extends { readonly body: infer S extends z.ZodType }
  ? z.input<S>
  : undefined;

export type { DecisionRecord, DecisionStage } from "#records/decision-record.ts";
export type { BacktestResult, BudgetLine, Hold, ModelView, PolicyKey } from "./schema/operating.ts";
export type { DecisionRow, Need } from "./schema/reading.ts";
export type { CapUse, Counted, DecisionFilter, Pace, Range, rangeKeys } from "./schema/shared.ts";
export type LiveEvent = AnswerOf<"GET decisions/live">;
export type BacktestEvent = AnswerOf<"POST policy/backtest">;
export type RouteAnswer = AnswerOf<"POST route">;
export type DecisionDetail = AnswerOf<"GET decisions/{id}">;
export type Summary = AnswerOf<"GET summary">;
