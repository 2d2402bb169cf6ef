import { z } from "zod";
import { type Call, endpoint, Refusal } from "#dashboard/endpoint.ts";
import { errorOf } from "#domain/errors.ts";
import { parseUsd } from "#domain/money/money.ts";
import type { HoldEnding } from "#ledger/admin/close-hold.ts";
import { currentBudgets, setCap } from "#operator/budgets.ts";
import { closeHolds, listHolds } from "#operator/holds.ts";
import { invalidInput } from "#operator/problem.ts";
import { counted, namedRange, RangeQuery, timeRange } from "#operator/query.ts";
import type { OperatorSources } from "#operator/sources.ts";
import { otherNames } from "#records/store/sums.ts";

const maxDays = 31;
const maxGoals = 200;
const maxSessions = 100;
const why = z.string().min(1).max(200);

/** What days, goals, keys and sessions spend, an operator's own caps, and money that is held. */
export function budgetEndpoints(sources: OperatorSources) {
  const { clock, records, stores } = sources;
  return {
    "GET budgets": endpoint({
      about: "Days, the newest first, goals and keys that have used most of their cap: caps, spent, held, pace.",
      query: RangeQuery,
      async answer({ query }) {
        const nowMs = clock.now();
        const { caps } = sources.config();
        const { budgets, pace } = await currentBudgets(sources);
        const { goals } = budgets;
        return {
          at_ms: nowMs,
          range: namedRange(query, nowMs),
          ...budgets,
          pace,
          policy_caps: { goal_hard_nano_usd: caps.goalHard, day_hard_nano_usd: caps.dayHard },
          days: budgets.days.slice(0, maxDays),
          goals: goals.slice(0, maxGoals),
          more_goals: Math.max(0, goals.length - maxGoals) + budgets.more,
        };
      },
    }),

    "GET sessions": endpoint({
      about: "Requests and cost of the 100 sessions with the highest cost, highest first.",
      query: RangeQuery,
      async answer({ query }) {
        const nowMs = clock.now();
        const range = namedRange(query, nowMs);
        const all = await records.groups("session", timeRange(range), maxSessions + 1);
        const groups = all.filter(({ key }) => key !== otherNames);
        const sessions = groups.slice(0, maxSessions).map((group) => {
          const { key: session, refused, requests: _, cost_nano_usd: __, ...others } = group;
          const sums = counted(range)(group, { session });
          const filter = { ...sums.filter, outcome: "refused" };
          return { session, ...others, ...sums, refused: { requests: refused, filter } };
        });
        return { at_ms: nowMs, range, sessions, more: groups.length > maxSessions };
      },
    }),

    "POST budgets/{goal}/cap": endpoint({
      about: "Sets or clears the operator's hard cap of a goal (`session/name`) or, with `account: day`, of a UTC day.",
      body: z.strictObject({
        hard_usd: z.string().nullable().describe("US dollars, such as `7.50`; null gives the cap back to the policy."),
        account: z.enum(["goal", "day"]).default("goal"),
        why: why.optional(),
      }),
      answer({ params: { goal }, body: { hard_usd, account, why }, operator }) {
        const hard = hard_usd === null ? null : amount("hard_usd", hard_usd, "down");
        return setCap(stores, { [account]: goal, hard, why }, operator);
      },
    }),

    "GET holds": endpoint({
      about: "Money that is held, and when each hold ends by itself.",
      query: z.object({ limit: z.coerce.number().int().min(1).max(500).default(100) }),
      async answer({ query }) {
        return { at_ms: clock.now(), ...(await listHolds(stores, query)) };
      },
    }),

    "POST holds/{id}/settle": endpoint({
      about: "Ends a hold with what the call has cost.",
      body: z.strictObject({ usd: z.string().describe("US dollars, such as `0.0187`."), why }),
      // Rounded up: what is charged is never below what was paid.
      answer: (call) => close(sources, call, { kind: "settled", actual: amount("usd", call.body.usd, "up") }),
    }),

    "POST holds/{id}/release": endpoint({
      about: "Ends a hold without cost.",
      body: z.strictObject({ why }),
      answer: (call) => close(sources, call, { kind: "released" }),
    }),
  };
}

function amount(field: string, text: string, rounding: "up" | "down") {
  const parsed = parseUsd(text, rounding);
  if (parsed === undefined) throw invalidInput(`${field}: must be an amount in US dollars, such as 0.0187.`);
  return parsed;
}

async function close(
  { stores, holdClosed }: OperatorSources,
  { params: { id = "" }, body, operator }: Call<unknown, { readonly why: string }>,
  ending: HoldEnding,
) {
  const ports = { ...stores, onClosed: holdClosed };
  const [closed] = await closeHolds(ports, { ids: [id], ending, why: body.why }, operator);
  if (closed === undefined || closed.result === "not_found")
    throw new Refusal(errorOf("unknown_hold", { problem: closed?.detail ?? "There is no hold." }));
  if (closed.result === "running") throw new Refusal(errorOf("hold_is_live", { problem: closed.detail ?? "" }));
  return closed;
}
