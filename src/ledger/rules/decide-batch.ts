import { nanoUsd } from "#domain/money/money.ts";
import type { Writable } from "#domain/writable.ts";
import type { Reservation } from "#ledger/ledger.ts";
import { dayAccountOf, goalAccountOf, keyAccountOf, spendOf } from "./accounts.ts";
import type {
  BatchReply,
  LedgerBatch,
  LedgerChanges,
  LedgerTime,
  LedgerView,
  Operation,
  OperationReply,
} from "./operations.ts";
import { type AccountId, type AccountRow, expiryGraceMs, type ReservationRow } from "./rows.ts";
import type { ShareScope } from "./shares.ts";
import { cancel, expire, orphan, resolve } from "./state-machine.ts";
import { WorkingRows } from "./working-rows.ts";

/**
 * The rules of the ledger, pure: what a batch of operations does to the rows it touches. Each store locks and reads the
 * rows, calls `decideBatch`, and writes the changes in the same transaction; so no store has rules of its own.
 *
 * Operations are applied in their order; the caller puts resolutions before what asks for money. Throws for no input
 * that the types allow. `short`: it cannot be decided by what is locked of these accounts. Nothing of it counts then,
 * and it is to be decided anew with more.
 */
export function decideBatch(
  batch: LedgerBatch,
  view: LedgerView,
  time: LedgerTime,
): {
  readonly reply: BatchReply;
  readonly changes: LedgerChanges;
  readonly short: ReadonlyMap<AccountId, ShareScope>;
  /** What the node can reserve in divided accounts after the batch: from its own share, and with further grants. */
  readonly rooms: ReadonlyMap<AccountId, { readonly free: number; readonly left: number }>;
} {
  const rows = new WorkingRows(view, batch.node, time);
  const replies = batch.operations.map((operation) => apply(rows, operation));
  const rooms = rows.grant();
  const changes = rows.changes();
  const { notices, heldMs, short } = rows;
  const written = changes.entries.length;
  const reply = { replies, accounts: rows.touchedAccounts(), ...time, notices, heldMs, written };
  return { reply, changes, short, rooms };
}

function apply(rows: WorkingRows, operation: Operation): OperationReply {
  switch (operation.kind) {
    case "reserve":
      return reserve(rows, operation.reservation, operation.admitted);
    case "read": {
      const { day } = rows.time;
      const { goal, key } = operation;
      const keyRow = key === undefined ? undefined : rows.account(keyAccountOf(key, day));
      const goalRow = rows.account(goalAccountOf(goal, day));
      return { kind: "spend", spend: spendOf(day, goalRow, rows.account(dayAccountOf(day)), keyRow) };
    }
    case "cancel":
      cancel(rows, operation.id);
      return done;
    case "expire":
      expire(rows, operation.id);
      return done;
    case "orphan":
      orphan(rows, operation.id);
      return done;
    default:
      resolve(rows, operation);
      return done;
  }
}

const done: OperationReply = { kind: "done" };

interface Limit {
  readonly binding: "goal" | "day" | "key";
  readonly row: Writable<AccountRow>;
  readonly hard: number;
}

/** Holds the amount in every account of the reservation if it fits under all of their hard caps. */
function reserve(rows: WorkingRows, reservation: Reservation, admitted?: LedgerTime): OperationReply {
  const { id, amount, key } = reservation;
  const existing = rows.reservation(id);
  if (existing !== undefined) return admitted === undefined ? repeatReserve(rows, existing, reservation) : done;

  const { day, nowMs } = admitted ?? rows.time;
  const goalRow = rows.account(goalAccountOf(reservation.goal, day));
  const dayRow = rows.account(dayAccountOf(day));
  const keyRow = key === undefined ? undefined : rows.account(keyAccountOf(key.label, day));
  const limits: Limit[] = [
    { binding: "goal", row: goalRow, hard: goalRow.ownHard ?? reservation.perGoalHard },
    { binding: "day", row: dayRow, hard: dayRow.ownHard ?? reservation.perDayHard },
  ];
  if (key !== undefined && keyRow !== undefined) limits.push({ binding: "key", row: keyRow, hard: key.dayHard });
  // One that was admitted is called already: it takes its money, and nobody gets more of that cap.
  if (admitted === undefined) {
    const roomOf = ({ row, hard }: Limit) => hard - row.spent - row.held;
    if (limits.some((limit) => rows.isWhole(limit.row.id) && amount > roomOf(limit))) {
      const { binding, hard } = limits.reduce((one, other) => (roomOf(other) < roomOf(one) ? other : one));
      // Waiting helps only if every cap that refuses would have room without the running holds.
      const helps = limits.every((limit) => amount <= roomOf(limit) + limit.row.held);
      const spend = spendOf(day, goalRow, dayRow, keyRow);
      return { kind: "refused", binding, spend, hard: nanoUsd(hard), ...(helps && { retryAfterMs: 1_000 }) };
    }
    for (const { row, hard } of limits) rows.takeFrom(row, amount, hard);
  }
  const row: ReservationRow = {
    id,
    goalAccount: goalRow.id,
    dayAccount: dayRow.id,
    keyAccount: keyRow?.id ?? null,
    slot: rows.slot,
    hold: amount,
    actual: null,
    source: null,
    state: "HELD",
    model: reservation.modelKey,
    nodeId: rows.node.id,
    nodeEpoch: rows.node.epoch,
    createdMs: nowMs,
    expiresMs: nowMs + reservation.deadlineMs + expiryGraceMs,
    closedMs: null,
  };
  const { priceVersion } = reservation;
  // Its call is dispatched at once; the prices are those that the hold is computed with.
  const reason = priceVersion === undefined ? "dispatched" : `dispatched, prices ${priceVersion}`;
  rows.write(row, reason);
  if (admitted === undefined) for (const limit of limits) limit.row.hard = limit.hard;
  return { kind: "held", day };
}

/** The same id again: the batch is repeated after a lost reply, or a defect of the caller. */
function repeatReserve(rows: WorkingRows, row: ReservationRow, reservation: Reservation): OperationReply {
  const isOwn = row.nodeId === rows.node.id && row.nodeEpoch === rows.node.epoch;
  const same = row.hold === reservation.amount && row.model === reservation.modelKey;
  if (isOwn && same && row.state === "HELD") return { kind: "held", day: row.dayAccount.slice("day/".length) };
  rows.ignore(row.id, row.state, same ? "reserved again after it was closed" : "reserved again with other numbers");
  // Written by a try whose reply was lost, and taken over or charged since: nobody has used it.
  if (same) cancel(rows, row.id);
  return { kind: "unavailable", reason: "this reservation is already used" };
}
