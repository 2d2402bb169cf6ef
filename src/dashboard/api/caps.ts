import type { CapUse, Pace } from "#dashboard/schema/shared.ts";
import { type Caps, lowerCap } from "#domain/money/caps.ts";
import { nanoUsd } from "#domain/money/money.ts";
import type { LedgerAccount } from "#ledger/admin/ledger-admin.ts";
import { hardCapOf, isOfPastDay } from "#ledger/admin/ledger-admin.ts";
import type { DecisionRecords } from "#records/records.ts";
import { dayMs, hourMs } from "./range.ts";

/** An account of the ledger against its caps. The hard cap of a day that is over is the one that it ended with. */
export function capUseOf(account: LedgerAccount, caps: Caps, today: string): CapUse {
  const { id, spent, held, overrun, ownHard } = account;
  const kind = id.startsWith("day/") ? "day" : "goal";
  const name = id.slice(kind.length + 1);
  const isOver = isOfPastDay(id, today);
  const hard = hardCapOf(account, caps, today);
  const soft = kind === "day" ? caps.daySoft : caps.goalSoft;
  return {
    account: id,
    kind,
    name,
    spent_nano_usd: spent,
    held_nano_usd: held,
    overrun_nano_usd: overrun,
    soft_nano_usd: hard === null || isOver ? null : lowerCap(soft, nanoUsd(hard)),
    hard_nano_usd: hard,
    cap_from: ownHard === null ? "policy" : "operator",
    left_nano_usd: hard === null ? null : Math.max(0, hard - spent - held),
    used_share: hard === null || hard === 0 ? null : (spent + held) / hard,
  };
}

/** Today's account against its caps; empty where nothing was written to it yet. */
export function dayCapUse(
  { accounts, today }: { readonly accounts: readonly LedgerAccount[]; readonly today: string },
  caps: Caps,
): CapUse {
  const dayId = `day/${today}`;
  return capUseOf(accounts.find(({ id }) => id === dayId) ?? emptyLedgerAccount(dayId), caps, today);
}

/** How long back the pace is measured: long enough for agents that pause, short enough to notice one that runs away. */
const paceWindowMs = hourMs;
/** A gateway or a day that has just begun has no pace yet. */
const shortestWindowMs = 5 * 60_000;

/** The pace of spending today, from the records, and where it leads. */
export async function paceOf(
  records: DecisionRecords,
  day: Pick<CapUse, "spent_nano_usd" | "left_nano_usd">,
  nowMs: number,
): Promise<Pace> {
  const dayStartMs = Math.floor(nowMs / dayMs) * dayMs;
  const fromMs = Math.max(dayStartMs, nowMs - paceWindowMs);
  const windowMs = Math.max(shortestWindowMs, nowMs - fromMs);
  const { cost_nano_usd } = await records.summary({ fromMs, toMs: Math.ceil(nowMs) + 1 });
  const perMs = cost_nano_usd / windowMs;
  const dayEndsMs = dayStartMs + dayMs;
  const runsOutMs = day.left_nano_usd === null || perMs === 0 ? null : nowMs + day.left_nano_usd / perMs;
  return {
    window_ms: windowMs,
    nano_usd_per_hour: Math.round(perMs * hourMs),
    runs_out_at_ms: runsOutMs === null || runsOutMs >= dayEndsMs ? null : Math.round(runsOutMs),
    day_ends_at_ms: dayEndsMs,
    forecast_nano_usd: Math.round(day.spent_nano_usd + perMs * (dayEndsMs - nowMs)),
  };
}

/** An account that nothing has been written to yet. */
export function emptyLedgerAccount(id: string): LedgerAccount {
  return { id, spent: 0, held: 0, overrun: 0, hard: null, ownHard: null };
}
