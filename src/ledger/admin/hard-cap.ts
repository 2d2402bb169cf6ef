import type { Caps } from "#domain/money/caps.ts";
import type { LedgerAccount } from "./ledger-admin.ts";

/**
 * The hard cap that an account is held to: an operator's own, else the policy's as given, in nano-USD. An account of a day that is
 * over keeps the one that it ended with; null where none is known.
 */
export function hardCapOf({ id, hard, ownHard }: LedgerAccount, caps: Caps, today: string): number | null {
  if (ownHard !== null) return ownHard;
  if (isOfPastDay(id, today)) return hard;
  return id.startsWith("day/") ? caps.dayHard : caps.goalHard;
}

/** Days before today, and what requests without a goal spent on them. */
export function isOfPastDay(id: string, today: string): boolean {
  const day = /^(?:day|goal\/adhoc)\/(\d{4}-\d{2}-\d{2})$/.exec(id)?.[1];
  return day !== undefined && day < today;
}
