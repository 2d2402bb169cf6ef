import { nanoUsd } from "#domain/money/money.ts";
import type { Writable } from "#domain/writable.ts";
import {
  type ActualSource,
  isReservationIdOf,
  type Reservation,
  type ReservationId,
  type Resolution,
  reservationIdOf,
} from "#ledger/ledger.ts";
import {
  type BatchReply,
  type LedgerBatch,
  type LedgerNotice,
  type Operation,
  type OperationReply,
  reservationIdOfOperation,
} from "#ledger/rules/operations.ts";
import { type AccountRow, partsOfReservationId } from "#ledger/rules/rows.ts";
import type { UtcDay } from "#platform/time.ts";

/**
 * Batches and their replies as they travel between the threads: JSON text of one flat array, in which the usual operations, replies and
 * notices are their values without names, and everything else is the object itself. Half of the text and of the instructions of objects.
 */

type Flat = readonly unknown[];

/** What stands before each operation. */
const otherOperation = 0;
const settle = 1;
/** A reserve with the caps, prices and deadline of the reserve before it. */
const reserveOnSameTerms = 2;
/** The same with its own. */
const reserveOnTerms = 3;

/** What stands before each reply. */
const otherReply = 0;
const done = 1;
/** Held today, where no account has an own cap. */
const held = 2;

/** Stands in place of the operation that a notice is about: the notice itself follows. */
const otherNotice = -1;

type Terms = Pick<Reservation, "perGoalHard" | "perDayHard" | "deadlineMs"> & { readonly priceVersion: string | null };
type SettleOperation = {
  readonly kind: "resolve";
  readonly resolution: Extract<Resolution, { readonly kind: "settled" }>;
};

type ResolvedNotice = Extract<LedgerNotice, { readonly kind: "resolved" }>;

export function encodeBatch(id: number, { node, operations }: LedgerBatch, nowMs: number): string {
  const flat: unknown[] = [id, nowMs, node.id, node.epoch];
  let before: Reservation | undefined;
  for (const operation of operations) {
    if (operation.kind === "reserve") {
      const { reservation } = operation;
      if (isReservationIdOf(reservation.id, reservation.requestId, reservation.attempt)) {
        const { requestId, attempt, goal, modelKey, amount } = reservation;
        const { priceVersion = null, perGoalHard, perDayHard, deadlineMs } = reservation;
        if (before !== undefined && haveSameTerms(before, reservation)) flat.push(reserveOnSameTerms);
        else flat.push(reserveOnTerms, priceVersion, perGoalHard, perDayHard, deadlineMs);
        flat.push(requestId, attempt, goal, modelKey, amount);
        before = reservation;
        continue;
      }
    } else if (isPlainSettlement(operation)) {
      const { id: reservation, actual, source } = operation.resolution;
      flat.push(settle, reservation, actual, source);
      continue;
    }
    flat.push(otherOperation, operation);
  }
  return JSON.stringify(flat);
}

function haveSameTerms(one: Reservation, other: Reservation): boolean {
  return (
    one.perGoalHard === other.perGoalHard &&
    one.perDayHard === other.perDayHard &&
    one.deadlineMs === other.deadlineMs &&
    one.priceVersion === other.priceVersion
  );
}

function isPlainSettlement(operation: Operation): operation is SettleOperation {
  if (operation.kind !== "resolve" || operation.resolution.kind !== "settled") return false;
  return operation.resolution.reason === undefined && operation.resolution.generationId === undefined;
}

export interface CommitRequest {
  readonly id: number;
  readonly batch: LedgerBatch;
  readonly nowMs: number;
}

/** Reads what `encodeBatch` wrote. */
export function decodeBatch(message: Flat): CommitRequest {
  const reader = new FlatReader(message);
  const id = reader.number();
  const nowMs = reader.number();
  const node = { id: reader.text(), epoch: reader.number() };
  const operations: Operation[] = [];
  let terms: Terms | undefined;
  while (!reader.atEnd) {
    const kind = reader.number();
    if (kind === settle) {
      const resolution = {
        id: reader.text(),
        kind: "settled" as const,
        actual: nanoUsd(reader.number()),
        source: reader.text() as ActualSource,
      };
      operations.push({ kind: "resolve", resolution });
    } else if (kind === otherOperation) {
      operations.push(reader.object() as Operation);
    } else {
      if (kind === reserveOnTerms) terms = readTerms(reader);
      if (terms === undefined) throw new Error("a reserve without terms");
      operations.push({ kind: "reserve", reservation: readReservation(reader, terms) });
    }
  }
  return { id, nowMs, batch: { node, operations } };
}

function readTerms(reader: FlatReader): Terms {
  return {
    priceVersion: reader.value() as string | null,
    perGoalHard: nanoUsd(reader.number()),
    perDayHard: nanoUsd(reader.number()),
    deadlineMs: reader.number(),
  };
}

function readReservation(reader: FlatReader, terms: Terms): Reservation {
  const requestId = reader.text();
  const attempt = reader.number();
  const reservation: Writable<Reservation> = {
    id: reservationIdOf(requestId, attempt),
    requestId,
    attempt,
    goal: reader.text(),
    modelKey: reader.text(),
    amount: nanoUsd(reader.number()),
    perGoalHard: terms.perGoalHard,
    perDayHard: terms.perDayHard,
    deadlineMs: terms.deadlineMs,
  };
  if (terms.priceVersion !== null) reservation.priceVersion = terms.priceVersion;
  return reservation;
}

export function encodeReply(id: number, { operations }: LedgerBatch, reply: BatchReply): string {
  const { replies, accounts, day, notices } = reply;
  const flat: unknown[] = [id, day, accounts.length];
  for (const { id: account, held, spent, overrun, hard, ownHard } of accounts) {
    flat.push(account, held, spent, overrun, hard, ownHard);
  }
  for (const one of replies) pushReply(flat, one, day);
  let index = 0;
  for (const notice of notices) {
    // They come in the order of their operations.
    const about = indexOfOperation(operations, notice.id, index);
    index = about;
    if (notice.kind === "resolved" && isPlainNotice(notice, operations[about])) {
      flat.push(about, notice.model, notice.hold);
    } else {
      flat.push(otherNotice, notice);
    }
  }
  return JSON.stringify(flat);
}

function pushReply(flat: unknown[], reply: OperationReply, day: UtcDay): void {
  if (reply.kind === "done") {
    flat.push(done);
    return;
  }
  if (reply.kind === "held" && reply.day === day && reply.spend.day === day) {
    const { goalAccount, dayAccount, goalHardOverride, dayHardOverride } = reply.spend;
    if (goalHardOverride === undefined && dayHardOverride === undefined) {
      flat.push(held, goalAccount.spent, goalAccount.held, dayAccount.spent, dayAccount.held);
      return;
    }
  }
  flat.push(otherReply, reply);
}

/** The first operation about a reservation, from one of them on. */
function indexOfOperation(operations: readonly Operation[], id: ReservationId, from: number): number {
  let index = from;
  for (let operation = operations[index]; operation !== undefined; operation = operations[index]) {
    if (reservationIdOfOperation(operation) === id) break;
    index += 1;
  }
  return index;
}

/** Whether a notice says that this operation has settled its reservation, and nothing that the operation does not say. */
function isPlainNotice(notice: ResolvedNotice, operation: Operation | undefined): boolean {
  if (operation === undefined || !isPlainSettlement(operation)) return false;
  const { id, actual, source } = operation.resolution;
  return (
    notice.id === id &&
    notice.state === "SETTLED" &&
    notice.charged === actual &&
    notice.reason === source &&
    notice.orphanOf === undefined &&
    isReservationIdOf(id, notice.requestId, notice.attempt)
  );
}

/** Reads what `encodeReply` wrote about this batch, behind the id of its request. */
export function decodeReply(message: Flat, { operations }: LedgerBatch): BatchReply {
  const reader = new FlatReader(message, 1);
  const day = reader.text();
  const accounts = Array.from({ length: reader.number() }, () => readAccount(reader));
  const replies = operations.map(() => readReply(reader, day));
  const notices: LedgerNotice[] = [];
  while (!reader.atEnd) {
    const about = reader.number();
    if (about === otherNotice) notices.push(reader.object() as LedgerNotice);
    else notices.push(readPlainNotice(reader, operations[about] as SettleOperation));
  }
  return { replies, accounts, day, notices };
}

function readAccount(reader: FlatReader): AccountRow {
  return {
    id: reader.text(),
    held: reader.number(),
    spent: reader.number(),
    overrun: reader.number(),
    hard: reader.value() as number | null,
    ownHard: reader.value() as number | null,
  };
}

function readReply(reader: FlatReader, day: UtcDay): OperationReply {
  switch (reader.number()) {
    case done:
      return { kind: "done" };
    case held: {
      const goalAccount = { spent: nanoUsd(reader.number()), held: nanoUsd(reader.number()) };
      const dayAccount = { spent: nanoUsd(reader.number()), held: nanoUsd(reader.number()) };
      return { kind: "held", day, spend: { day, goalAccount, dayAccount } };
    }
    default:
      return reader.object() as OperationReply;
  }
}

function readPlainNotice(reader: FlatReader, { resolution }: SettleOperation): LedgerNotice {
  const { id, actual, source } = resolution;
  const { requestId, attempt } = partsOfReservationId(id);
  return {
    kind: "resolved",
    id,
    requestId,
    attempt,
    model: reader.text(),
    state: "SETTLED",
    hold: reader.number(),
    charged: actual,
    reason: source,
  };
}

/** Takes the values of a message in turn. The other thread runs the same code, so a value is what its place says. */
class FlatReader {
  readonly #values: Flat;
  #at: number;

  constructor(values: Flat, from = 0) {
    this.#values = values;
    this.#at = from;
  }

  get atEnd(): boolean {
    return this.#at >= this.#values.length;
  }

  value(): unknown {
    const value = this.#values[this.#at];
    this.#at += 1;
    return value;
  }

  number(): number {
    return this.value() as number;
  }

  text(): string {
    return this.value() as string;
  }

  object(): object {
    return this.value() as object;
  }
}
