import { z } from "zod";
import type { CallerKey } from "#domain/chat.ts";
import { goalIdOf } from "#domain/goal.ts";
import { type Caps, formatUsd, lowerCap, type NanoUsd, nanoUsd } from "#domain/money/money.ts";
import type { HoldTotal, LedgerHold } from "#ledger/admin/holds.ts";
import { hardCapOf, isOfPastDay, type LedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import {
  dayAccountOf,
  emptyAccount,
  goalAccountOf,
  keyAccountOf,
  listedGoalAccountOf,
} from "#ledger/rules/accounts.ts";
import type { AccountRow } from "#ledger/rules/rows.ts";
import type { UtcDay } from "#platform/time.ts";
import type { RecordStore } from "#records/store/record-store.ts";
import type { Operator } from "./audit.ts";
import { isExpired } from "./caller-keys.ts";
import { invalidInput } from "./problem.ts";
import { hourMs, utcDayRange } from "./query.ts";
import type { OperatorSources } from "./sources.ts";
import type { OperatorStores } from "./stores.ts";

const maxHolds = 1_000;

interface InForce {
  /** Of the policy; without them accounts show the cap of their last request. */
  readonly caps: Caps | undefined;
  /** The callers' keys that were not revoked; undefined: every long-enough token is accepted. */
  readonly keys: Iterable<CallerKey | null> | undefined;
  readonly nowMs: number;
}

/** What is spent and held: the newest days first, then goals and keys by the share of their cap. */
export async function listBudgets(stores: Pick<OperatorStores, "admin">, inForce: InForce, limit: number) {
  const { caps, keys = [], nowMs } = inForce;
  const admin = await stores.admin();
  const [{ accounts, more }, { holds, totals }, today] = await Promise.all([
    admin.accounts(limit),
    admin.holds({ limit: maxHolds }),
    admin.today(),
  ]);
  // A day that has spent is not over, even if the clock is behind it.
  const spending = accounts.filter(({ id, spent, held }) => id.startsWith("day/") && spent + held > 0);
  const day = [today, ...spending.map(({ id }) => id.slice("day/".length))].sort().at(-1) ?? today;
  const accepted = [...keys].filter((key) => !isExpired(key, nowMs));
  const listed = [emptyAccount(dayAccountOf(day)), ...accounts, ...(await keyAccounts(admin, accepted, day))];
  const rows = new Map(listed.map((account) => [account.id, account])); // of two the later one
  const lines = [...rows.values()].map((account) => budgetLine(account, caps, day, holds));
  return {
    /** The ledger's UTC day: what is spent now counts to it. */
    today: day,
    days: lines.filter(({ kind }) => kind === "day"),
    goals: lines.filter(({ kind }) => kind === "goal").sort(byShare),
    keys: lines.filter(({ kind, past }) => kind === "key" && !past).sort(byShare),
    /** Accounts that are left out. */
    more,
    totals: holdTotals(totals),
  };
}
export type Budgets = Awaited<ReturnType<typeof listBudgets>>;

/** The accounts of the keys that have a cap, also of those that have spent nothing on this day. */
export async function keyAccounts(admin: LedgerAdmin, keys: Iterable<CallerKey | null>, day: UtcDay) {
  const caps = new Map<string, NanoUsd>();
  for (const key of keys) if (key?.dayHard !== undefined) caps.set(keyAccountOf(key.label, day), key.dayHard);
  const accounts = await admin.named([...caps.keys()]);
  return accounts.map((account) => ({ ...account, hard: caps.get(account.id) ?? null }));
}

function byShare(a: BudgetLine, b: BudgetLine): number {
  return (b.used_share ?? 0) - (a.used_share ?? 0) || b.spent_nano_usd - a.spent_nano_usd;
}

export function holdTotals(totals: readonly HoldTotal[]) {
  return totals.map(({ state, count, amount }) => ({ state, count, held_nano_usd: amount }));
}

/** An account of the ledger (`day/2026-01-31`, `goal/session/name`, `key/label/2026-01-31`) against its caps. */
function budgetLine(account: AccountRow, caps: Caps | undefined, today: string, holds: readonly LedgerHold[]) {
  const { id, spent, unproven, held, overrun, ownHard } = account;
  const kind = (["day", "key"] as const).find((name) => id.startsWith(`${name}/`)) ?? ("goal" as const);
  // Null before the first request of the account; of a day that is over, the cap that it ended with.
  const hard = caps === undefined ? (ownHard ?? account.hard) : hardCapOf(account, caps, today);
  const past = isOfPastDay(id, today);
  const soft = kind === "key" || past ? undefined : kind === "day" ? caps?.daySoft : caps?.goalSoft;
  const own = holds.filter(({ goalAccount, dayAccount }) => goalAccount === id || dayAccount === id);
  const held_by = { live: 0, orphaned: 0, unresolved: 0 };
  for (const { state, amount } of own) if (state !== "charged") held_by[state] += amount;
  const unresolved = own.filter(({ state }) => state === "unresolved").map(({ untilMs }) => untilMs);
  return {
    account: id,
    kind,
    name: kind === "key" ? id.slice("key/".length, -"/2026-01-31".length) : id.slice(kind.length + 1),
    spent_nano_usd: spent,
    /** The part of it that was charged because nobody knows the cost. */
    unproven_nano_usd: unproven,
    held_nano_usd: held,
    overrun_nano_usd: overrun,
    soft_nano_usd: hard === null || soft === undefined ? null : lowerCap(soft, nanoUsd(hard)),
    hard_nano_usd: hard,
    cap_from: kind === "key" ? ("key" as const) : ownHard === null ? ("policy" as const) : ("operator" as const),
    left_nano_usd: hard === null ? null : Math.max(0, hard - spent - held),
    // Above 1 after an overrun.
    used_share: hard === null || hard === 0 ? null : (spent + held) / hard,
    /** Of a UTC day that is over. */
    past,
    held_by,
    /** When the last of its holds of unknown outcome is charged in full, unless somebody ends it before. */
    charged_at_ms: unresolved.length === 0 ? null : Math.max(...unresolved),
  };
}
/** A day, a goal, or a key and its day. */
export type BudgetLine = ReturnType<typeof budgetLine>;

const maxAccounts = 1_000;

/** The same of a running gateway, with today's line and its pace. */
export async function currentBudgets({ clock, config, keys, records, stores }: OperatorSources) {
  const nowMs = clock.now();
  const inForce = { caps: config().caps, keys: keys()?.values(), nowMs };
  const budgets = await listBudgets(stores, inForce, maxAccounts);
  const { days, today } = budgets;
  const empty = budgetLine(emptyAccount(dayAccountOf(today)), undefined, today, []); // for the type: there is one
  const day = days.find(({ name }) => name === today) ?? empty;
  return { budgets, day, pace: await spendingPace(records, day, nowMs) };
}

export interface CapChange {
  /** A goal as lists name it, or with its session by its id; `adhoc` for today's requests without one. */
  readonly goal?: string | undefined;
  readonly session?: string | undefined;
  /** A UTC day, or `today`. */
  readonly day?: string | undefined;
  /** Null gives the cap back to the policy. */
  readonly hard: NanoUsd | null;
  readonly why?: string | undefined;
}

/** Sets or clears an operator's own hard cap of a goal or a day; running gateways obey it at once. */
export async function setCap(stores: Pick<OperatorStores, "admin" | "actions">, change: CapChange, operator: Operator) {
  const { goal, session, day, hard, why } = change;
  const admin = await stores.admin();
  const today = await admin.today();
  // Lists name requests without a goal as `adhoc`, or with the day behind it.
  const listed = goal?.replace(/^adhoc\/\d{4}-\d{2}-\d{2}$/, "adhoc");
  const account =
    listed === undefined
      ? dayAccountOf(utcDay(day ?? "today", today))
      : session === undefined
        ? listedGoalAccountOf(listed, today)
        : goalAccountOf(goalIdOf({ sessionId: session, goalId: listed }), today);
  const before = (await admin.named([account]))[0]?.ownHard ?? null;
  await admin.setCap(account, hard);
  const text = (cap: number | null) => (cap === null ? "of the policy" : `${formatUsd(cap)} USD`);
  const detail = `hard cap ${text(before)} → ${text(hard)}${why === undefined ? "" : `: ${why}`}`;
  await (await stores.actions()).add(operator, { action: "cap_set", target: account, detail });
  return { account, hard_nano_usd: hard as number | null, before_nano_usd: before };
}

function utcDay(text: string, today: string): string {
  if (text === "today") return today;
  if (z.iso.date().safeParse(text).success) return text;
  throw invalidInput("The day must be a UTC day as YYYY-MM-DD, or today.");
}

/** The pace is that of the last hour: long enough for agents that pause, short enough to notice one that runs away. */
const paceWindowMs = hourMs;
/** A gateway or a day that has just begun has no pace yet. */
const shortestWindowMs = 5 * 60_000;

/** The pace of spending today, from the records, and where it leads. */
async function spendingPace(
  records: Pick<RecordStore, "summary">,
  day: Pick<BudgetLine, "spent_nano_usd" | "left_nano_usd">,
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
