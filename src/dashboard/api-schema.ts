import type { z } from "zod";
import { DecisionDetail, DecisionsAnswer, DecisionsQuery, LiveEvent } from "./schema/decisions.ts";
import { SeriesAnswer, SeriesQuery, SessionAnswer, SummaryAnswer } from "./schema/now.ts";
import {
  ActionsAnswer,
  ActionsQuery,
  BudgetsAnswer,
  CapAnswer,
  CapBody,
  CloseAnswer,
  HoldsAnswer,
  HoldsQuery,
  ModelsAnswer,
  OverrideAnswer,
  ReleaseBody,
  SessionsAnswer,
  SettleBody,
} from "./schema/operating.ts";
import {
  BacktestBody,
  BacktestEvent,
  CheckAnswer,
  PolicyAnswer,
  PolicyTextBody,
  RouteAnswer,
  RouteBody,
} from "./schema/policy.ts";
import { RangeQuery } from "./schema/shared.ts";

/**
 * Every endpoint under `/dashboard/api/`: the one description that the server validates with, the page takes its types from
 * and the reference is made of. `{…}` in a path is one segment, URL-encoded. `events` are server-sent.
 */
export const dashboardApi = {
  "GET session": { about: "The caller, and the gateway's version and state.", answer: SessionAnswer },
  "GET summary": {
    about: "What needs attention, spending against caps, and where requests were routed.",
    query: RangeQuery,
    answer: SummaryAnswer,
  },
  "GET decisions": { about: "Records, newest first, by keyset pages.", query: DecisionsQuery, answer: DecisionsAnswer },
  "GET decisions/live": { about: "New records as they are made, filtered.", query: DecisionsQuery, events: LiveEvent },
  "GET decisions/{id}": { about: "One decision with its whole explanation.", answer: DecisionDetail },
  "GET series": {
    about: "A metric over time, at most 400 points, from the roll-ups.",
    query: SeriesQuery,
    answer: SeriesAnswer,
  },
  "GET budgets": { about: "Days and goals: caps, spent, held, pace.", query: RangeQuery, answer: BudgetsAnswer },
  "POST budgets/{goal}/cap": { about: "Sets or clears the operator's own hard cap.", body: CapBody, answer: CapAnswer },
  "GET sessions": {
    about: "Requests and cost of the 100 sessions with the highest cost, highest first.",
    query: RangeQuery,
    answer: SessionsAnswer,
  },
  "GET holds": {
    about: "Money that is held, and when each hold ends by itself.",
    query: HoldsQuery,
    answer: HoldsAnswer,
  },
  "POST holds/{id}/settle": {
    about: "Ends a hold with what the call has cost.",
    body: SettleBody,
    answer: CloseAnswer,
  },
  "POST holds/{id}/release": { about: "Ends a hold without cost.", body: ReleaseBody, answer: CloseAnswer },
  "GET models": { about: "The models: state, errors, latency, prices.", query: RangeQuery, answer: ModelsAnswer },
  "POST models/{key}/disable": { about: "Takes a model out of service.", answer: OverrideAnswer },
  "POST models/{key}/enable": { about: "Puts a model back into service.", answer: OverrideAnswer },
  "POST models/{key}/reset": { about: "Clears a model's pauses, trips and quarantine.", answer: OverrideAnswer },
  "GET actions": {
    about: "The audit log: who changed what in the dashboard, and when.",
    query: ActionsQuery,
    answer: ActionsAnswer,
  },
  "GET policy": { about: "The policy in force, and where each value comes from.", answer: PolicyAnswer },
  "POST policy/check": {
    about: "What is wrong with an edited policy, and what it changes.",
    body: PolicyTextBody,
    answer: CheckAnswer,
  },
  "POST policy/backtest": {
    about: "Replays recorded tasks under an edited policy.",
    body: BacktestBody,
    events: BacktestEvent,
  },
  "POST route": {
    about: "Where a chat request would be routed and why; nothing is sent or written.",
    body: RouteBody,
    answer: RouteAnswer,
  },
} as const satisfies Readonly<Record<string, EndpointSchema>>;

interface EndpointSchema {
  readonly about: string;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  readonly answer?: z.ZodType;
  readonly events?: z.ZodType;
}

export type DashboardApi = typeof dashboardApi;
export type DashboardEndpoint = keyof DashboardApi;

/** What an endpoint answers; its events where it streams. */
export type AnswerOf<E extends DashboardEndpoint> = DashboardApi[E] extends {
  readonly answer: infer S extends z.ZodType;
}
  ? z.output<S>
  : DashboardApi[E] extends { readonly events: infer S extends z.ZodType }
    ? z.output<S>
    : never;

/** What a caller may write into the query. */
export type QueryOf<E extends DashboardEndpoint> = DashboardApi[E] extends { readonly query: infer S extends z.ZodType }
  ? z.input<S>
  : undefined;

/** What a caller sends as body. */
export type BodyOf<E extends DashboardEndpoint> = DashboardApi[E] extends { readonly body: infer S extends z.ZodType }
  ? z.input<S>
  : undefined;

export type {
  Counterfactual,
  DecisionRecord,
  DecisionStage,
  DecisionStage as StageView,
} from "#records/decision-record.ts";
export type { DecisionDetail, DecisionRow, LiveEvent } from "./schema/decisions.ts";
export type { Need } from "./schema/now.ts";
export type { BudgetLine, Hold, ModelView } from "./schema/operating.ts";
export type { BacktestEvent, BacktestResult, PolicyKey, RouteAnswer } from "./schema/policy.ts";
export type { CapUse, Counted, DecisionFilter, Pace, Range, rangeKeys } from "./schema/shared.ts";
