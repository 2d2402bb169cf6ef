import type { UtcDay } from "#platform/time.ts";

/** A UTC day as the ledger and the aggregator count it, at one moment; amounts in nano-USD. */
export interface Reconciliation {
  readonly day: UtcDay;
  readonly ledgerSpent: number;
  /** Held by calls that are running or of unknown outcome: not spent yet. */
  readonly ledgerHeld: number;
  readonly aggregatorSpent: number;
  /** When the aggregator was asked, in milliseconds since the epoch. */
  readonly readMs: number;
}

/** The aggregator's count less the ledger's, in nano-USD. */
export function differenceOf({ aggregatorSpent, ledgerSpent }: Reconciliation): number {
  return aggregatorSpent - ledgerSpent;
}

/** Below this a difference is the rounding of two counts taken at two moments. */
const smallestNotable = 100_000_000;
const notableShare = 0.05;

/**
 * Whether the two differ by more than calls under way explain: above 0.10 USD and 5 %. Money that is held may have been billed
 * already, so it is no difference.
 */
export function isNotable(reconciliation: Reconciliation): boolean {
  const difference = differenceOf(reconciliation);
  const unexplained = difference > 0 ? Math.max(0, difference - reconciliation.ledgerHeld) : -difference;
  const larger = Math.max(reconciliation.aggregatorSpent, reconciliation.ledgerSpent);
  return unexplained > smallestNotable && unexplained > notableShare * larger;
}
