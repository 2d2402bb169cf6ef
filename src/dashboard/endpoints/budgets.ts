import { z } from "zod";
import { endpoint, Refusal } from "#dashboard/endpoint.ts";
import {
  type CapUse,
  capUse,
  dayCapUse,
  goalCapUses,
  holdTotals,
  readLedger,
  spendingPace,
} from "#dashboard/ledger-view.ts";
import { counted, namedRange, RangeQuery, timeRange } from "#dashboard/query.ts";
import { type DashboardSources, writeAudit } from "#dashboard/sources.ts";
import { formatUsd, parseUsd } from "#domain/money/money.ts";
import type { LedgerHold } from "#ledger/admin/holds.ts";
import { adhocGoal } from "#ledger/ledger.ts";
import { dayAccountOf, listedGoalAccountOf } from "#ledger/rules/accounts.ts";
import { otherNames } from "#records/store/sums.ts";

const maxDays = 31;
const maxGoals = 200;
const maxSessions = 100;

const nothingHeld = {
  held_by: { live: 0, orphaned: 0, unresolved: 0 },
  /** When the last of its open holds ends by itself, without an operator. */
  frees_itself_ms: null as number | null, // else the type is null alone
};

/** A day or a goal. */
export type BudgetLine = CapUse & typeof nothingHeld;

/** What days, goals and sessions spend, and an operator's own caps. */
export function budgetEndpoints(sources: DashboardSources) {
  const { clock, config, records } = sources;
  return {
    "GET budgets": endpoint({
      about: "Days, the newest first, and goals that have used most of their cap: caps, spent, held, pace.",
      query: RangeQuery,
      async answer({ query }) {
        const nowMs = clock.now();
        const range = namedRange(query, nowMs);
        const { caps } = config();
        const read = await readLedger(sources);
        const today = dayCapUse(read, caps);
        const days = read.accounts
          .filter(({ id }) => id.startsWith("day/") && id !== today.account)
          .map((account) => capUse(account, caps, read.today));
        const goals = goalCapUses(read, caps);
        const pace = await spendingPace(records, today, nowMs);
        const held = holdsByAccount(read.holds);
        const line = (cap: CapUse): BudgetLine => ({ ...cap, ...(held.get(cap.account) ?? nothingHeld) });
        return {
          at_ms: nowMs,
          range,
          today: read.today,
          day_ends_at_ms: pace.day_ends_at_ms,
          pace,
          policy_caps: {
            goal_hard_nano_usd: caps.goalHard,
            day_hard_nano_usd: caps.dayHard,
          },
          days: [today, ...days].slice(0, maxDays).map(line),
          goals: goals.slice(0, maxGoals).map(line),
          more_goals: Math.max(0, goals.length - maxGoals) + read.more,
          totals: holdTotals(read.totals),
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
          return {
            session,
            ...others,
            ...sums,
            refused: { requests: refused, filter: { ...sums.filter, outcome: "refused" } },
          };
        });
        return { at_ms: nowMs, range, sessions, more: groups.length > maxSessions };
      },
    }),

    "POST budgets/{goal}/cap": endpoint({
      about:
        "Sets or clears the operator's own hard cap of a goal (`session/name`) or, with `account: day`, of a UTC day or `today`.",
      body: z.strictObject({
        hard_usd: z.string().nullable().describe("US dollars, such as `7.50`; null gives the cap back to the policy."),
        account: z.enum(["goal", "day"]).default("goal"),
        why: z.string().max(200).optional(),
      }),
      async answer({ params: { goal = "" }, body, operator }) {
        const hard = body.hard_usd === null ? null : parseUsd(body.hard_usd, "down");
        if (hard === undefined) {
          throw new Refusal(422, "hard_usd: must be an amount in US dollars, such as 7.50, or null.");
        }
        const admin = await sources.admin();
        const today = await admin.today();
        // Lists name requests without a goal as `adhoc`, or with the day behind it.
        const listed = /^adhoc\/\d{4}-\d{2}-\d{2}$/.test(goal) ? adhocGoal : goal;
        const account = body.account === "day" ? dayAccountOf(utcDay(goal, today)) : listedGoalAccountOf(listed, today);
        const before = (await admin.account(account))?.ownHard ?? null;
        await admin.setCap(account, hard);
        const text = (cap: number | null) => (cap === null ? "of the policy" : `${formatUsd(cap)} USD`);
        const why = body.why === undefined ? "" : `: ${body.why}`;
        const detail = `hard cap ${text(before)} → ${text(hard)}${why}`;
        await writeAudit(sources, operator, { action: "cap_set", target: account, detail });
        return { account, hard_nano_usd: hard as number | null, before_nano_usd: before };
      },
    }),
  };
}

function holdsByAccount(holds: readonly LedgerHold[]) {
  const byAccount = new Map<string, typeof nothingHeld>();
  for (const { goalAccount, dayAccount, state, amount, untilMs } of holds) {
    if (state === "charged") continue;
    for (const account of [goalAccount, dayAccount]) {
      const { held_by, frees_itself_ms } = byAccount.get(account) ?? nothingHeld;
      byAccount.set(account, {
        held_by: { ...held_by, [state]: held_by[state] + amount },
        frees_itself_ms: Math.max(frees_itself_ms ?? 0, untilMs),
      });
    }
  }
  return byAccount;
}

function utcDay(text: string, today: string): string {
  if (text === "today" || z.iso.date().safeParse(text).success) return text === "today" ? today : text;
  throw new Refusal(422, "The day must be a UTC day as YYYY-MM-DD, or today.");
}
