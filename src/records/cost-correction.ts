import type { ReservationState } from "#ledger/rules/rows.ts";
import type { CostState, DecisionRecord } from "./decision-record.ts";

/** The final cost of one attempt, as the ledger learned it later. */
export interface CostCorrection {
  readonly decisionId: string;
  /** Its number in the reservation's id. */
  readonly attempt: number;
  readonly costNanoUsd: number;
  readonly state: CostState;
}

/** A reservation that has been closed, in the ledger's words. */
interface ClosedReservation {
  readonly requestId: string;
  readonly attempt: number;
  readonly state: ReservationState;
  /** In nano-USD. */
  readonly charged: number;
}

/** What a closed reservation says of its record. */
export function correctionOf({ requestId, attempt, state, charged }: ClosedReservation): CostCorrection {
  return {
    decisionId: requestId,
    attempt,
    costNanoUsd: charged,
    state: state === "EXPIRED_CHARGED" ? "estimated" : "known",
  };
}

/** The record with that cost; itself where it has it already. */
export function correctedRecord(
  record: DecisionRecord,
  { attempt, costNanoUsd, state }: CostCorrection,
): DecisionRecord {
  const before = record.attempts.find(({ number }) => number === attempt);
  if (before === undefined || before.cost_nano_usd === costNanoUsd) return record;
  const attempts = record.attempts.map((each) =>
    each === before ? { ...each, cost_nano_usd: costNanoUsd, cost_source: "ledger" } : each,
  );
  const isOpen = attempts.some(({ cost_nano_usd }) => cost_nano_usd === null);
  return {
    ...record,
    attempts,
    cost_nano_usd: record.cost_nano_usd + costNanoUsd - (before.cost_nano_usd ?? 0),
    cost_state: isOpen ? record.cost_state : state,
  };
}
