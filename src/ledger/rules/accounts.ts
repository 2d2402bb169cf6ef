import { createHash } from "node:crypto";
import { maxUsd, nanoUsd, saturatedUsd } from "#domain/money/money.ts";
import type { Writable } from "#domain/writable.ts";
import { type AccountSpend, adhocGoal, type GoalId, type Spend } from "#ledger/ledger.ts";
import type { UtcDay } from "#platform/time.ts";
import type { AccountId, AccountRow } from "./rows.ts";

export function emptyAccount(id: AccountId): AccountRow {
  return { id, held: 0, spent: 0, overrun: 0, hard: null, ownHard: null };
}

/** A row as a database gives it: PostgreSQL gives a bigint as text. */
export function readAccount(row: Readonly<Record<string, unknown>>): AccountRow {
  return {
    id: String(row["id"]),
    held: Number(row["held"]),
    spent: Number(row["spent"]),
    overrun: Number(row["overrun"]),
    hard: row["hard"] === null ? null : Number(row["hard"]),
    ownHard: row["own_hard"] === null ? null : Number(row["own_hard"]),
  };
}

export function dayAccountOf(day: UtcDay): AccountId {
  return `day/${day}`;
}

/** Names that every store takes as they are; no control characters, no lone surrogates, not the namespace of `adhoc`. */
const plainGoal = /^(?!adhoc(?:\/|$))(?!sha256:)[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]{1,200}$/u;

/** Nearly all goals match this simpler expression, which needs no Unicode tables. */
const simpleGoal = /^(?!adhoc|sha256)[A-Za-z0-9_./-]{1,200}$/;

/** `goal/<goal>`; the `adhoc` goal has one account a day. Unusual names are stored as their SHA-256. */
export function goalAccountOf(goal: GoalId, day: UtcDay): AccountId {
  if (goal === adhocGoal) return `goal/adhoc/${day}`;
  if (simpleGoal.test(goal)) return `goal/${goal}`;
  if (plainGoal.test(goal)) return `goal/${goal}`;
  return `goal/sha256:${createHash("sha256").update(goal, "utf16le").digest("hex")}`;
}

/** Whether a goal's name, as lists of accounts have it, is the hash of an unusual one. */
export function isHashedGoal(name: string): boolean {
  return /^sha256:[0-9a-f]{64}$/.test(name);
}

/** The account of a goal that an operator names as lists do, behind `goal/`: by its name, or by its hash. */
export function listedGoalAccountOf(name: string, day: UtcDay): AccountId {
  return isHashedGoal(name) ? `goal/${name}` : goalAccountOf(name, day);
}

type Balance = Pick<AccountRow, "held" | "spent" | "ownHard">;

export function accountSpendOf(row: Balance): AccountSpend {
  return { spent: saturatedUsd(row.spent), held: saturatedUsd(row.held) };
}

/**
 * An account as a store has it, with sums that can be counted with: an upstream may have stated costs whose sum is beyond
 * what a number holds exactly. Such an account is full for every cap there can be, and stays so.
 */
export function saturatedAccount(row: AccountRow): AccountRow {
  const { held, spent, overrun, hard, ownHard } = row;
  const most = Math.max(held, spent, overrun, hard ?? 0, ownHard ?? 0);
  if (most <= maxUsd) return row;
  return {
    id: row.id,
    held: Math.min(held, maxUsd),
    spent: Math.min(spent, maxUsd),
    overrun: Math.min(overrun, maxUsd),
    hard: hard === null ? null : Math.min(hard, maxUsd),
    ownHard: ownHard === null ? null : Math.min(ownHard, maxUsd),
  };
}

/** A sum that has reached `maxUsd` stays there: how far above it really is, is not known. */
function saturatingAdd(sum: number, by: number): number {
  return sum >= maxUsd ? maxUsd : Math.min(sum + by, maxUsd);
}

export function spendOf(day: UtcDay, goalRow: Balance, dayRow: Balance): Spend {
  const spend: Writable<Spend> = { day, goalAccount: accountSpendOf(goalRow), dayAccount: accountSpendOf(dayRow) };
  if (goalRow.ownHard !== null) spend.goalHardOverride = nanoUsd(goalRow.ownHard);
  if (dayRow.ownHard !== null) spend.dayHardOverride = nanoUsd(dayRow.ownHard);
  return spend;
}

/** Adds signed amounts to an account. */
export function moveMoney(account: Writable<AccountRow>, held: number, spent: number, overrun: number): void {
  account.held += held;
  account.spent = saturatingAdd(account.spent, spent);
  account.overrun = saturatingAdd(account.overrun, overrun);
}
