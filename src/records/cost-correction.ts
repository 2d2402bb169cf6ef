import type { ReservationState } from "#ledger/rules/rows.ts";
import type { DecisionRecord } from "./decision-record.ts";

/** A reservation that has been closed: the final cost of one attempt, as the ledger learned it later. */
export interface ClosedReservation {
  /** The decision id of its record. */
  readonly requestId: string;
  readonly attempt: number;
  readonly state: ReservationState;
  /** In nano-USD. */
  readonly charged: number;
}

/** The record with that cost; itself where it has it already. */
export function correctedRecord(
  record: DecisionRecord,
  { attempt, state, charged }: ClosedReservation,
): DecisionRecord {
  const before = record.attempts.find(({ number }) => number === attempt);
  if (before === undefined || before.cost_nano_usd === charged) return record;
  const attempts = record.attempts.map((each) =>
    each === before ? { ...each, cost_nano_usd: charged, cost_source: "ledger" } : each,
  );
  const isOpen = attempts.some(({ cost_nano_usd }) => cost_nano_usd === null);
  const final = state === "EXPIRED_CHARGED" ? "estimated" : "known";
  return {
    ...record,
    attempts,
    cost_nano_usd: record.cost_nano_usd + charged - (before.cost_nano_usd ?? 0),
    cost_state: isOpen ? record.cost_state : final,
  };
}
