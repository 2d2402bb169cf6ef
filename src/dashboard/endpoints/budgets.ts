import { type ApiHandlers, ApiProblem } from "#dashboard/api/endpoint.ts";
import type { EndpointSources } from "#dashboard/api/endpoint-sources.ts";
import {
  capUse,
  dayCapUse,
  holdTotals,
  openAdmin,
  readLedger,
  spendingPace,
  withGoalNames,
} from "#dashboard/api/ledger-view.ts";
import { counted, dayMs, namedRange, timeRange, utcDayRange } from "#dashboard/api/query.ts";
import type { BudgetLine } from "#dashboard/schema/operating.ts";
import type { CapUse, Counted, Range } from "#dashboard/schema/shared.ts";
import { formatUsd, parseUsd } from "#domain/money/money.ts";
import type { LedgerHold } from "#ledger/admin/holds.ts";
import { adhocGoal } from "#ledger/ledger.ts";
import { dayAccountOf, listedGoalAccountOf } from "#ledger/rules/accounts.ts";
import { boundedId } from "#records/build-record.ts";

const maxDays = 31;
const maxGoals = 200;
const maxSessions = 100;

/** What days, goals and sessions spend, and an operator's own caps. */
export function budgetEndpoints(
  sources: EndpointSources,
): ApiHandlers<"GET budgets" | "GET sessions" | "POST budgets/{goal}/cap"> {
  const { clock, config, records } = sources;
  return {
    "GET budgets": async ({ query }) => {
      const nowMs = clock.now();
      const range = namedRange(query, nowMs);
      const { caps } = config();
      const read = await readLedger(sources);
      const lines = read.accounts.map((account) => capUse(account, caps, read.today));
      const days = lines.filter(({ kind }) => kind === "day").slice(0, maxDays);
      const today = dayCapUse(read, caps);
      if (!days.some(({ account }) => account === today.account)) days.unshift(today);
      const goals = lines
        .filter(({ kind }) => kind === "goal")
        .sort((a, b) => (b.used_share ?? 0) - (a.used_share ?? 0) || b.spent_nano_usd - a.spent_nano_usd);
      const [pace, requests, namedGoals] = await Promise.all([
        spendingPace(records, today, nowMs),
        requestsByAccount(sources, range, days, read.today),
        withGoalNames(goals.slice(0, maxGoals), records, nowMs),
      ]);
      const held = holdsByAccount(read.holds);
      const line = (cap: CapUse): BudgetLine => ({
        ...cap,
        ...(held.get(cap.account) ?? nothingHeld),
        requests: requests.get(cap.kind === "day" ? cap.account : `goal/${boundedId(cap.name)}`) ?? null,
      });
      return {
        at_ms: nowMs,
        range,
        today: read.today,
        day_ends_at_ms: pace.day_ends_at_ms,
        pace,
        policy_caps: {
          goal_soft_nano_usd: caps.goalSoft,
          goal_hard_nano_usd: caps.goalHard,
          day_soft_nano_usd: caps.daySoft,
          day_hard_nano_usd: caps.dayHard,
        },
        days: days.map(line),
        goals: namedGoals.map(line),
        more_goals: Math.max(0, goals.length - maxGoals) + read.more,
        totals: holdTotals(read.totals),
      };
    },

    "GET sessions": async ({ query }) => {
      const nowMs = clock.now();
      const range = namedRange(query, nowMs);
      const groups = await records.groups("session", timeRange(range), maxSessions + 1);
      const sessions = groups.slice(0, maxSessions).map((group) => {
        const { key: session, refused, prompt_tokens, cached_tokens, completion_tokens, last_ms } = group;
        const sums = counted(range)(group, { session });
        const refusals = { requests: refused, filter: { ...sums.filter, outcome: "refused" } };
        return { session, ...sums, refused: refusals, prompt_tokens, cached_tokens, completion_tokens, last_ms };
      });
      return { at_ms: nowMs, range, sessions, more: groups.length > maxSessions };
    },

    "POST budgets/{goal}/cap": async ({ params: { goal = "" }, body, operator }) => {
      const hard = body.hard_usd === null ? null : parseUsd(body.hard_usd, "down");
      if (hard === undefined) {
        throw new ApiProblem(422, "hard_usd: must be an amount in US dollars, such as 7.50, or null.");
      }
      const admin = await openAdmin(sources);
      const today = await admin.today();
      // Lists name requests without a goal as `adhoc`, or with the day behind it.
      const listed = /^adhoc\/\d{4}-\d{2}-\d{2}$/.test(goal) ? adhocGoal : goal;
      const account = body.account === "day" ? dayAccountOf(utcDay(goal, today)) : listedGoalAccountOf(listed, today);
      const before = (await admin.account(account))?.ownHard ?? null;
      await admin.setCap(account, hard);
      const text = (cap: number | null) => (cap === null ? "of the policy" : `${formatUsd(cap)} USD`);
      const why = body.why === undefined ? "" : `: ${body.why}`;
      const detail = `hard cap ${text(before)} → ${text(hard)}${why}`;
      await sources.audit(operator, { action: "cap_set", target: account, detail });
      return { account, hard_nano_usd: hard, before_nano_usd: before };
    },
  };
}

/** Sums of the records of a range by account: each day and goal. */
async function requestsByAccount(
  { records }: EndpointSources,
  range: Range,
  days: readonly CapUse[],
  today: string,
): Promise<ReadonlyMap<string, Counted>> {
  const groups = records.groups("goal", timeRange(range), maxGoals);
  const sums = new Map<string, Counted>();
  await Promise.all(
    days.map(async ({ account, name }) => {
      const day = utcDayRange(Date.parse(`${name}T00:00:00Z`));
      if (day.toMs <= range.from_ms || day.fromMs >= range.to_ms) return;
      const ends = { key: null, from_ms: day.fromMs, to_ms: day.toMs };
      sums.set(account, counted(ends)(await records.summary(day), {}));
    }),
  );
  const isOneDay = Math.floor(range.from_ms / dayMs) === Math.floor((range.to_ms - 1) / dayMs);
  for (const group of await groups) {
    const { key: goal } = group;
    // Requests without a goal have an account for each day.
    if (goal === "" || (goal === adhocGoal && !isOneDay)) continue;
    sums.set(`goal/${goal === adhocGoal ? `${adhocGoal}/${today}` : goal}`, counted(range)(group, { goal }));
  }
  return sums;
}

const nothingHeld = { held_by: { live: 0, orphaned: 0, unresolved: 0 }, frees_itself_ms: null };

function holdsByAccount(holds: readonly LedgerHold[]) {
  const byAccount = new Map<string, Pick<BudgetLine, "held_by" | "frees_itself_ms">>();
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
  if (text === "today") return today;
  const ms = Date.parse(`${text}T00:00:00Z`);
  if (/^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text)) return text;
  throw new ApiProblem(422, "The day must be a UTC day as YYYY-MM-DD, or today.");
}
