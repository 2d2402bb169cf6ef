import { createHash } from "node:crypto";
import { nanoUsd, saturatedUsd } from "#domain/money/money.ts";
import type { Writable } from "#domain/writable.ts";
import { type AccountSpend, adhocGoal, type GoalId, type Spend } from "#ledger/ledger.ts";
import type { UtcDay } from "#platform/time.ts";
import type { Operation } from "./operations.ts";
import { type AccountId, type AccountRow, noAmounts } from "./rows.ts";

export function emptyAccount(id: AccountId): AccountRow {
  return { id, ...noAmounts, hard: null, ownHard: null };
}

/** A row as a database gives it: PostgreSQL gives a bigint as text. */
export function readAccount(row: Readonly<Record<string, unknown>>): AccountRow {
  return {
    id: String(row["id"]),
    held: Number(row["held"]),
    spent: Number(row["spent"]),
    overrun: Number(row["overrun"]),
    unproven: Number(row["unproven"]),
    hard: row["hard"] === null ? null : Number(row["hard"]),
    ownHard: row["own_hard"] === null ? null : Number(row["own_hard"]),
  };
}

export function dayAccountOf(day: UtcDay): AccountId {
  return `day/${day}`;
}

/** `key/<label>/<day>`. A label has no white space: it comes from a line of words. */
export function keyAccountOf(label: string, day: UtcDay): AccountId {
  return `key/${storedName(label)}/${day}`;
}

/** Names that every store takes as they are; no control characters, no lone surrogates, not the namespace of `adhoc`. */
const plainName = /^(?!adhoc(?:\/|$))(?!sha256:)[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]{1,200}$/u;

/** `goal/<goal>`; the `adhoc` goal has one account a day. */
export function goalAccountOf(goal: GoalId, day: UtcDay): AccountId {
  return goal === adhocGoal ? `goal/adhoc/${day}` : `goal/${storedName(goal)}`;
}

/** Whether all nodes share an account, and a store with several writers divides it among them. A goal is mostly one caller's. */
export function isShared(id: AccountId): boolean {
  return !id.startsWith("goal/") || id.startsWith("goal/adhoc/");
}

/** The accounts that an operation reserves from or reads; it need not know that they exist. */
export function accountsNamedBy(operation: Operation, today: UtcDay): AccountId[] {
  if (operation.kind !== "reserve" && operation.kind !== "read") return [];
  const { goal, key } = operation.kind === "read" ? operation : operation.reservation;
  const day = (operation.kind === "reserve" ? operation.admitted?.day : undefined) ?? today;
  const label = typeof key === "object" ? key.label : key;
  const accounts = [goalAccountOf(goal, day), dayAccountOf(day)];
  return label === undefined ? accounts : [...accounts, keyAccountOf(label, day)];
}

/** Unusual names are stored as their SHA-256. */
function storedName(name: string): string {
  if (plainName.test(name)) return name;
  return `sha256:${createHash("sha256").update(name, "utf16le").digest("hex")}`;
}

/** Whether a goal's name, as lists of accounts have it, is the hash of an unusual one. */
function isHashedGoal(name: string): boolean {
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

export function spendOf(day: UtcDay, goalRow: Balance, dayRow: Balance, keyRow?: Balance): Spend {
  const spend: Writable<Spend> = { day, goalAccount: accountSpendOf(goalRow), dayAccount: accountSpendOf(dayRow) };
  if (keyRow !== undefined) spend.keyAccount = accountSpendOf(keyRow);
  if (goalRow.ownHard !== null) spend.goalHardOverride = nanoUsd(goalRow.ownHard);
  if (dayRow.ownHard !== null) spend.dayHardOverride = nanoUsd(dayRow.ownHard);
  return spend;
}
