import { nanoUsd } from "#domain/money/money.ts";
import { type Reservation, reservationIdOf } from "#ledger/ledger.ts";
import { goalAccountOf, spendOf } from "./accounts.ts";
import { expiryGraceMs } from "./limits.ts";
import type { OperationReply } from "./operations.ts";
import type { ReservationRow } from "./rows.ts";
import type { WorkingRows } from "./working-rows.ts";

/** Holds the amount in both accounts of the reservation if it fits under both hard caps. */
export function reserve(rows: WorkingRows, reservation: Reservation): OperationReply {
  // So an attempt can never be held twice, under two ids.
  if (reservation.id !== reservationIdOf(reservation.requestId, reservation.attempt)) {
    return { kind: "unavailable", reason: "the id of a reservation must be that of its request and attempt" };
  }
  const { day, nowMs } = rows.time;
  const existing = rows.reservation(reservation.id);
  if (existing !== undefined) return repeatReserve(rows, existing, reservation);

  const { dayAccount } = rows;
  const goalAccount = goalAccountOf(reservation.goal, day);
  const goalRow = rows.account(goalAccount);
  const dayRow = rows.account(dayAccount);
  const goalHard = goalRow.ownHard ?? reservation.perGoalHard;
  const dayHard = dayRow.ownHard ?? reservation.perDayHard;
  const goalRoom = goalHard - goalRow.spent - goalRow.held;
  const dayRoom = dayHard - dayRow.spent - dayRow.held;
  if (reservation.amount > goalRoom || reservation.amount > dayRoom) {
    // Waiting helps only if every cap that refuses would have room without the running holds.
    const waitable = reservation.amount <= goalRoom + goalRow.held && reservation.amount <= dayRoom + dayRow.held;
    const binding = goalRoom <= dayRoom ? "goal" : "day";
    return {
      kind: "refused",
      binding,
      spend: spendOf(day, goalRow, dayRow),
      hard: nanoUsd(binding === "goal" ? goalHard : dayHard),
      ...(waitable ? { retryAfterMs: 1_000 } : {}),
    };
  }
  const row: ReservationRow = {
    id: reservation.id,
    requestId: reservation.requestId,
    attempt: reservation.attempt,
    goalAccount,
    dayAccount,
    hold: reservation.amount,
    actual: null,
    source: null,
    state: "HELD",
    model: reservation.modelKey,
    nodeId: rows.node.id,
    nodeEpoch: rows.node.epoch,
    dispatched: true,
    createdMs: nowMs,
    expiresMs: nowMs + reservation.deadlineMs + expiryGraceMs,
    closedMs: null,
  };
  const { priceVersion } = reservation;
  // Its call is dispatched at once; the prices are those that the hold is computed with.
  const reason = priceVersion === undefined ? "dispatched" : `dispatched, prices ${priceVersion}`;
  rows.write(row, "admitted", row.hold, 0, 0, reason);
  goalRow.hard = goalHard;
  dayRow.hard = dayHard;
  return { kind: "held", day };
}

/** The same id again: a repeat after a lost reply, or a defect of the caller. */
function repeatReserve(rows: WorkingRows, row: ReservationRow, reservation: Reservation): OperationReply {
  const same =
    row.requestId === reservation.requestId &&
    row.attempt === reservation.attempt &&
    row.hold === reservation.amount &&
    row.model === reservation.modelKey;
  if (!same || row.state !== "HELD" || row.nodeId !== rows.node.id || row.nodeEpoch !== rows.node.epoch) {
    rows.ignore(row.id, row.state, same ? "reserved again after it was closed" : "reserved again with other numbers");
    return { kind: "unavailable", reason: "this reservation is already used" };
  }
  return { kind: "held", day: row.dayAccount.slice("day/".length) };
}
