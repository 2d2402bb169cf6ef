import { type Caps, lowerCap, nanoUsd } from "#domain/money/money.ts";
import type { HoldTotal } from "#ledger/admin/holds.ts";
import { hardCapOf, isOfPastDay } from "#ledger/admin/ledger-admin.ts";
import { adhocGoal } from "#ledger/ledger.ts";
import { emptyAccount } from "#ledger/rules/accounts.ts";
import type { AccountRow } from "#ledger/rules/rows.ts";
import { utcDayOf } from "#platform/time.ts";
import type { StoredRecords } from "#records/stored-records.ts";
import { hourMs, utcDayRange } from "./query.ts";
import type { DashboardSources } from "./sources.ts";

const maxRows = 1_000;

/** Reads the ledger for the pages. */
export async function readLedger(sources: DashboardSources) {
  const admin = await sources.admin();
  const [{ accounts, more }, { holds, totals }, spend] = await Promise.all([
    admin.accounts(maxRows),
    admin.holds({ limit: maxRows }),
    sources.ledger.read(adhocGoal),
  ]);
  return {
    /** The newest days first, then the goals that have spent most; and how many are left out. */
    ...{ accounts, more },
    /** Those that end first, up to a limit; the totals are of all. */
    ...{ holds, totals },
    /** The UTC day of the ledger now: what is spent counts to it. */
    today: spend?.day ?? utcDayOf(sources.clock.now()),
  };
}
export type LedgerSnapshot = Awaited<ReturnType<typeof readLedger>>;

export function holdTotals(totals: readonly HoldTotal[]) {
  return totals.map(({ state, count, amount }) => ({ state, count, held_nano_usd: amount }));
}

/** An account of the ledger (`day/2026-01-31`, `goal/session/name`) against its caps. */
export function capUse(account: AccountRow, caps: Caps, today: string) {
  const { id, spent, unproven, held, overrun, ownHard } = account;
  const kind = id.startsWith("day/") ? ("day" as const) : ("goal" as const);
  // Null before the first request of the account; of a day that is over, the cap that it ended with.
  const hard = hardCapOf(account, caps, today);
  const soft = kind === "day" ? caps.daySoft : caps.goalSoft;
  return {
    account: id,
    kind,
    name: id.slice(kind.length + 1),
    spent_nano_usd: spent,
    /** The part of it that was charged because nobody knows the cost. */
    unproven_nano_usd: unproven,
    held_nano_usd: held,
    overrun_nano_usd: overrun,
    soft_nano_usd: hard === null || isOfPastDay(id, today) ? null : lowerCap(soft, nanoUsd(hard)),
    hard_nano_usd: hard,
    cap_from: ownHard === null ? ("policy" as const) : ("operator" as const),
    left_nano_usd: hard === null ? null : Math.max(0, hard - spent - held),
    // Above 1 after an overrun.
    used_share: hard === null || hard === 0 ? null : (spent + held) / hard,
  };
}
export type CapUse = ReturnType<typeof capUse>;

/** Today's account against its caps; empty where nothing was written to it yet. */
export function dayCapUse({ accounts, today }: Pick<LedgerSnapshot, "accounts" | "today">, caps: Caps): CapUse {
  const dayId = `day/${today}`;
  return capUse(accounts.find(({ id }) => id === dayId) ?? emptyAccount(dayId), caps, today);
}

/** The goals' accounts against their caps, those that have used most of it first. */
export function goalCapUses({ accounts, today }: LedgerSnapshot, caps: Caps): CapUse[] {
  return accounts
    .filter(({ id }) => id.startsWith("goal/"))
    .map((account) => capUse(account, caps, today))
    .sort((a, b) => (b.used_share ?? 0) - (a.used_share ?? 0) || b.spent_nano_usd - a.spent_nano_usd);
}

/** The pace is measured over the last hour: long enough for agents that pause, short enough to notice one that runs away. */
const paceWindowMs = hourMs;
/** A gateway or a day that has just begun has no pace yet. */
const shortestWindowMs = 5 * 60_000;

/** The pace of spending today, from the records, and where it leads. */
export async function spendingPace(
  records: StoredRecords,
  day: Pick<CapUse, "spent_nano_usd" | "left_nano_usd">,
  nowMs: number,
) {
  const { fromMs: dayStartMs, toMs: dayEndsMs } = utcDayRange(nowMs);
  const fromMs = Math.max(dayStartMs, nowMs - paceWindowMs);
  const windowMs = Math.max(shortestWindowMs, nowMs - fromMs);
  const { cost_nano_usd } = await records.summary({ fromMs, toMs: Math.ceil(nowMs) + 1 });
  const perMs = cost_nano_usd / windowMs;
  const runsOutMs = day.left_nano_usd === null || perMs === 0 ? dayEndsMs : nowMs + day.left_nano_usd / perMs;
  return {
    window_ms: windowMs,
    nano_usd_per_hour: Math.round(perMs * hourMs),
    // When the hard cap is reached; null: not before the day ends.
    runs_out_at_ms: runsOutMs >= dayEndsMs ? null : Math.round(runsOutMs),
    day_ends_at_ms: dayEndsMs,
    forecast_nano_usd: Math.round(day.spent_nano_usd + perMs * (dayEndsMs - nowMs)),
  };
}
export type Pace = Awaited<ReturnType<typeof spendingPace>>;
