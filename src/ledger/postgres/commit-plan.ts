import type { ReservationId } from "#ledger/ledger.ts";
import { dayAccountOf, emptyAccount, goalAccountOf } from "#ledger/rules/accounts.ts";
import { type BatchDecision, decideBatch } from "#ledger/rules/decide-batch.ts";
import { type LedgerBatch, type LedgerView, reservationIdOfOperation } from "#ledger/rules/operations.ts";
import type { AccountId, AccountRow, ReservationRow } from "#ledger/rules/rows.ts";
import { StoreFailure } from "#ledger/store.ts";
import type { UtcDay } from "#platform/time.ts";
import type { NodeMemory } from "./node-memory.ts";
import { timePlaceholder, writeMessage } from "./write-message.ts";

/** A batch that is being committed, as far as the batch behind it has to know. */
export class PendingCommit {
  /** Whether its second message is on its way: what is sent from then on runs after it. */
  readonly sent = Promise.withResolvers<boolean>();
  /** Whether that message was committed as planned. */
  readonly written = Promise.withResolvers<boolean>();
  /** Whether the batch was committed in the end, with reads if need be. */
  readonly done = Promise.withResolvers<boolean>();
  failed = false;
  /** The rows that the database will have if all is as this node remembers it. */
  readonly accounts = new Map<AccountId, AccountRow>();
  readonly rows = new Map<ReservationId, ReservationRow>();
  behind: PendingCommit | undefined;

  /** The optimistic commit has failed: nothing may be sent right behind it. */
  failOptimistic(): void {
    this.failed = true;
    this.sent.resolve(false);
    this.written.resolve(false);
  }
}

/** A batch decided from memory: the rows that it is about, the decision, and the statements that write it. */
export interface CommitPlan {
  readonly batch: LedgerBatch;
  readonly day: UtcDay;
  readonly accountIds: readonly AccountId[];
  readonly accounts: ReadonlyMap<AccountId, AccountRow>;
  readonly rows: ReadonlyMap<ReservationId, ReservationRow>;
  readonly decided: BatchDecision;
  readonly writes: string;
  /** Reserves that are refused. That their ids are new is not seen from the writes, so they have to be looked up. */
  readonly refused: readonly ReservationId[];
}

/** Decides a batch from memory and the commit ahead of it; undefined where a row has to be read first. */
export function planFromMemory(
  batch: LedgerBatch,
  day: UtcDay,
  memory: NodeMemory,
  commit: PendingCommit,
  ahead: PendingCommit | undefined,
): CommitPlan | undefined {
  const needed = new Set<AccountId>();
  const rows = new Map<ReservationId, ReservationRow>();
  for (const operation of batch.operations) {
    const id = reservationIdOfOperation(operation);
    switch (operation.kind) {
      case "reserve": {
        // An earlier try of it may have been committed.
        if (memory.accountsOf(id) !== undefined) return undefined;
        needed.add(goalAccountOf(operation.reservation.goal, day)).add(dayAccountOf(day));
        break;
      }
      // Decided by the clock, and mostly about reservations of other nodes.
      case "expire":
      case "orphan":
        return undefined;
      default: {
        const row = ahead?.rows.get(id) ?? memory.openReservations.get(id);
        if (row === undefined) return undefined;
        rows.set(id, row);
        needed.add(row.goalAccount).add(row.dayAccount);
      }
    }
  }
  const accountIds = [...needed].sort();
  const accounts = new Map<AccountId, AccountRow>();
  for (const id of accountIds) {
    accounts.set(id, ahead?.accounts.get(id) ?? memory.accounts.get(id) ?? emptyAccount(id));
  }
  const plan = planFor(batch, day, accountIds, accounts, rows);
  const { inserted, updated } = plan.decided.changes;
  for (const row of plan.decided.reply.accounts) commit.accounts.set(row.id, row);
  for (const row of inserted) commit.rows.set(row.id, row);
  for (const { after } of updated) commit.rows.set(after.id, after);
  for (const operation of batch.operations) {
    if (operation.kind !== "reserve") continue;
    const { id, goal } = operation.reservation;
    memory.setAccountsOf(id, [goalAccountOf(goal, day), dayAccountOf(day)]);
  }
  return plan;
}

/** Decides before the time is known: times are written as an offset from the time mark. */
export function planFor(
  batch: LedgerBatch,
  day: UtcDay,
  accountIds: readonly AccountId[],
  accounts: ReadonlyMap<AccountId, AccountRow>,
  rows: ReadonlyMap<ReservationId, ReservationRow>,
): CommitPlan {
  const decided = decideBatch(batch, viewOf(accounts, rows), { nowMs: 0, day });
  const refused = batch.operations
    .filter((_, index) => decided.reply.replies[index]?.kind === "refused")
    .map(reservationIdOfOperation);
  const writes = writeMessage(decided.changes, timePlaceholder);
  return { batch, day, accountIds, accounts, rows, decided, writes, refused };
}

/** Locked rows as the rules read them. */
export function viewOf(
  accounts: ReadonlyMap<AccountId, AccountRow>,
  reservations: ReadonlyMap<ReservationId, ReservationRow>,
): LedgerView {
  return {
    account(id) {
      const row = accounts.get(id);
      if (row === undefined) throw new StoreFailure("transient", `account ${id} was not locked`);
      return row;
    },
    reservation: (id) => reservations.get(id),
  };
}

export function isSameAccount(one: AccountRow | undefined, other: AccountRow | undefined): boolean {
  return (
    one !== undefined &&
    other !== undefined &&
    one.held === other.held &&
    one.spent === other.spent &&
    one.overrun === other.overrun &&
    one.hard === other.hard &&
    one.ownHard === other.ownHard
  );
}
