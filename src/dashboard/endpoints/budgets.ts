import { capUseOf, dayCapUse, paceOf } from "#dashboard/api/caps.ts";
import { withGoalNames } from "#dashboard/api/goal-names.ts";
import { type ApiHandler, ApiProblem } from "#dashboard/api/handlers.ts";
import { openAdmin, totalsOf } from "#dashboard/api/ledger-admin.ts";
import type { LedgerSnapshots } from "#dashboard/api/ledger-snapshots.ts";
import { dayMs, rangeOf, timeRangeOf } from "#dashboard/api/range.ts";
import { countedIn } from "#dashboard/api/sums.ts";
import { audited } from "#dashboard/audit/audited.ts";
import type { BudgetLine } from "#dashboard/schema/operating.ts";
import type { CapUse, Range } from "#dashboard/schema/shared.ts";
import type { DashboardSources } from "#dashboard/sources.ts";
import { formatUsd, parseUsd } from "#domain/money/money.ts";
import type { LedgerHold } from "#ledger/admin/holds.ts";
import { adhocGoal } from "#ledger/ledger.ts";
import { dayAccountOf, listedGoalAccountOf } from "#ledger/rules/accounts.ts";
import { boundedId } from "#records/record-facts.ts";

const maxDays = 31;
const maxGoals = 200;

/** `GET budgets`: days and goals, with caps, spent, held and pace. */
export function budgetsHandler(sources: DashboardSources, ledgerSnapshots: LedgerSnapshots): ApiHandler<"GET budgets"> {
  return async ({ query }) => {
    const nowMs = sources.clock.now();
    const range = rangeOf(query, nowMs);
    const { caps } = sources.config();
    const read = await ledgerSnapshots.read();
    const lines = read.accounts.map((account) => capUseOf(account, caps, read.today));
    const days = lines.filter(({ kind }) => kind === "day").slice(0, maxDays);
    const today = dayCapUse(read, caps);
    if (!days.some(({ account }) => account === today.account)) days.unshift(today);
    const goals = lines
      .filter(({ kind }) => kind === "goal")
      .sort((a, b) => (b.used_share ?? 0) - (a.used_share ?? 0) || b.spent_nano_usd - a.spent_nano_usd);
    const [pace, requestsOf, namedGoals] = await Promise.all([
      paceOf(sources.records, today, nowMs),
      requestsIn(sources, range, days, read.today),
      withGoalNames(goals.slice(0, maxGoals), sources.records, nowMs),
    ]);
    const heldBy = holdsByAccount(read.holds);
    const lineOf = (cap: CapUse): BudgetLine => ({
      ...cap,
      ...(heldBy.get(cap.account) ?? nothingHeld),
      requests: requestsOf(cap),
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
      days: days.map(lineOf),
      goals: namedGoals.map(lineOf),
      more_goals: Math.max(0, goals.length - maxGoals) + read.more,
      totals: totalsOf(read.totals),
    };
  };
}

/** Sums of the records by day and goal of a range. */
async function requestsIn(
  { records }: DashboardSources,
  range: Range,
  days: readonly CapUse[],
  today: string,
): Promise<(line: CapUse) => BudgetLine["requests"]> {
  const counted = countedIn(range);
  const [groups, ofDays] = await Promise.all([
    records.groups("goal", timeRangeOf(range), maxGoals),
    Promise.all(
      days.map(async ({ account, name }) => {
        const from = Date.parse(`${name}T00:00:00Z`);
        const day = { key: null, from_ms: from, to_ms: from + dayMs };
        if (day.to_ms <= range.from_ms || from >= range.to_ms) return undefined;
        return [account, countedIn(day)(await records.summary(timeRangeOf(day)), {})] as const;
      }),
    ),
  ]);
  const isOneDay = Math.floor(range.from_ms / dayMs) === Math.floor((range.to_ms - 1) / dayMs);
  const byName = new Map([
    ...ofDays.filter((day) => day !== undefined),
    ...groups
      // Requests without a goal have an account for each day.
      .filter(({ key }) => key !== "" && (key !== adhocGoal || isOneDay))
      .map(
        (group) =>
          [
            `goal/${group.key === adhocGoal ? `${adhocGoal}/${today}` : group.key}`,
            counted(group, { goal: group.key }),
          ] as const,
      ),
  ]);
  return ({ kind, account, name }) => byName.get(kind === "day" ? account : `goal/${boundedId(name)}`) ?? null;
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

/** `POST budgets/{goal}/cap`: the operator's own hard cap for a goal or a day. */
export function capHandler(
  sources: DashboardSources,
  ledgerSnapshots: LedgerSnapshots,
): ApiHandler<"POST budgets/{goal}/cap"> {
  return async ({ params: { goal = "" }, body, operator }) => {
    const hard = body.hard_usd === null ? null : parseUsd(body.hard_usd, "down");
    if (hard === undefined) {
      throw new ApiProblem(422, "hard_usd: must be an amount in US dollars, such as 7.50, or null.", "invalid_request");
    }
    const admin = await openAdmin(sources);
    const today = await admin.today();
    const account =
      body.account === "day" ? dayAccountOf(dayIn(goal, today)) : listedGoalAccountOf(goalIn(goal), today);
    const before = (await admin.account(account))?.ownHard ?? null;
    await admin.setCap(account, hard);
    ledgerSnapshots.invalidate();
    await audited(sources, operator, {
      action: "cap_set",
      target: account,
      detail: `hard cap ${capText(before)} → ${capText(hard)}${body.why === undefined ? "" : `: ${body.why}`}`,
    });
    return { account, hard_nano_usd: hard, before_nano_usd: before };
  };
}

/** As lists name it: requests without a goal as `adhoc`, or with the day behind it. */
function goalIn(text: string): string {
  if (text === "") throw new ApiProblem(422, "goal: must not be empty.", "invalid_request");
  return /^adhoc\/\d{4}-\d{2}-\d{2}$/.test(text) ? adhocGoal : text;
}

function dayIn(text: string, today: string): string {
  if (text === "today") return today;
  const ms = Date.parse(`${text}T00:00:00Z`);
  if (/^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text)) return text;
  throw new ApiProblem(422, "The day must be a UTC day as YYYY-MM-DD, or today.", "invalid_request");
}

function capText(cap: number | null): string {
  return cap === null ? "of the policy" : `${formatUsd(cap)} USD`;
}
