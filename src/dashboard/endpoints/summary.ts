import { capUseOf, dayCapUse, paceOf } from "#dashboard/api/caps.ts";
import { withGoalNames } from "#dashboard/api/goal-names.ts";
import type { ApiHandler } from "#dashboard/api/handlers.ts";
import type { LedgerSnapshot, LedgerSnapshots } from "#dashboard/api/ledger-snapshots.ts";
import { modelTier } from "#dashboard/api/model-tier.ts";
import { dayMs, rangeOf, timeRangeOf } from "#dashboard/api/range.ts";
import { countedIn, failedOutcomes, firstTokenOf, sumsOf } from "#dashboard/api/sums.ts";
import { noValue, Tier } from "#dashboard/schema/shared.ts";
import type { DashboardSources } from "#dashboard/sources.ts";
import type { DecisionRecords, RecordSummary, SummaryShare, TimeRange } from "#records/records.ts";
import { needsOf } from "./needs.ts";

/** Goals in the summary, by cost and by what they have used of their cap. */
const maxGoals = 10;
const maxCaps = 5;

/** `GET summary`: what an operator should act on, spend against caps, and where requests went. */
export function summaryHandler(sources: DashboardSources, ledgerSnapshots: LedgerSnapshots): ApiHandler<"GET summary"> {
  return async ({ query }) => {
    const nowMs = sources.clock.now();
    const range = rangeOf(query, nowMs);
    const records = sources.records;
    const time = timeRangeOf(range);
    const [ledger, all, today, goals, caps] = await Promise.all([
      ledgerSnapshots.read(),
      records.summary(time),
      records.summary(utcDayRange(nowMs)),
      records.groups("goal", time, maxGoals),
      ledgerSnapshots.read().then((read) => capsOf(read, sources, records, nowMs)),
    ]);
    const counted = countedIn(range);
    return {
      range,
      at_ms: nowMs,
      utc_day: ledger.today,
      needs_you: needsOf(sources, {
        ...caps,
        totals: ledger.totals,
        isNew: all.requests === 0 && all.oldest_record_ms === null,
      }),
      total: counted(all, {}),
      answered: counted(sumsOf(all.by.outcome, ["answered"]), { outcome: "answered" }),
      refused: counted(sumsOf(all.by.outcome, ["refused"]), { outcome: "refused" }),
      failed: counted(sumsOf(all.by.outcome, failedOutcomes), { outcome: failedOutcomes.join(",") }),
      refused_by: [
        { ...counted(sumsOf(all.by.refused_by, ["gateway"]), { refused_by: "gateway" }), by: "gateway" as const },
        { ...counted(sumsOf(all.by.refused_by, ["upstream"]), { refused_by: "upstream" }), by: "upstream" as const },
      ],
      by_tier: all.by.tier.map((share) => ({ ...counted(share, { tier: named(share) }), tier: tierOf(share.key) })),
      by_cause: all.by.cause.map((share) => ({ ...counted(share, { cause: named(share) }), cause: share.key || null })),
      by_model: all.by.model.map((share) => ({
        ...counted(share, { model: named(share) }),
        model: share.key || null,
        tier: modelTier(sources, share.key),
      })),
      by_goal: goals.map((group) => ({ ...counted(group, { goal: group.key }), goal: group.key || null })),
      tokens: { prompt: all.prompt_tokens, cached: all.cached_tokens, completion: all.completion_tokens },
      first_token_ms: firstTokenOf(all),
      caps,
      unknown_cost: counted({ requests: all.cost_unknown, cost_nano_usd: 0 }, { cost_state: "unknown" }),
      oldest_record_ms: all.oldest_record_ms,
      ledger: ledgerOf(ledger, today),
      saved: savedOf(all, sources.config().registry.byRole.senior?.key ?? null),
    };
  };
}

function named({ key }: SummaryShare): string {
  return key === "" ? noValue : key;
}

function tierOf(key: string) {
  return Tier.safeParse(key).data ?? null;
}

async function capsOf(
  { accounts, today }: LedgerSnapshot,
  sources: DashboardSources,
  records: DecisionRecords,
  nowMs: number,
) {
  const { caps } = sources.config();
  const day = dayCapUse({ accounts, today }, caps);
  const goals = accounts
    .filter(({ id }) => id.startsWith("goal/"))
    .map((account) => capUseOf(account, caps, today))
    // Yesterday's requests without a goal have no cap any more.
    .filter(({ soft_nano_usd }) => soft_nano_usd !== null)
    .sort((a, b) => (b.used_share ?? 0) - (a.used_share ?? 0))
    .slice(0, maxCaps);
  const [pace, named] = await Promise.all([paceOf(records, day, nowMs), withGoalNames(goals, records, nowMs)]);
  return { day, pace, goals: [...named] };
}

function utcDayRange(nowMs: number): TimeRange {
  const fromMs = Math.floor(nowMs / dayMs) * dayMs;
  return { fromMs, toMs: fromMs + dayMs };
}

function ledgerOf({ accounts, today }: LedgerSnapshot, sums: RecordSummary) {
  const spent = accounts.find(({ id }) => id === `day/${today}`)?.spent ?? 0;
  return {
    day: today,
    spent_nano_usd: spent,
    records_nano_usd: sums.cost_nano_usd,
    unexplained_nano_usd: spent - sums.cost_nano_usd,
  };
}

function savedOf(all: RecordSummary, model: string | null) {
  return {
    baseline:
      "Every answered request on the senior model, with the tokens that were recorded, the prices of the time, and the same share of the prompt read from the cache.",
    model,
    requests: all.outcomes["answered"] ?? 0,
    cost_nano_usd: all.baseline_cost_nano_usd,
    baseline_nano_usd: all.baseline_nano_usd,
    saved_nano_usd: all.baseline_nano_usd - all.baseline_cost_nano_usd,
  };
}
