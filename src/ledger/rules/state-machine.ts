import { createHash } from "node:crypto";
import { mostUsd, type NanoUsd, nanoUsd, saturatedUsd } from "#domain/money/money.ts";
import {
  type AccountSpend,
  type ActualSource,
  adhocGoal,
  type GoalId,
  type Reservation,
  type ReservationId,
  type ReserveReply,
  type Resolution,
  reservationIdOf,
  type Spend,
} from "#ledger/ledger.ts";
import type { UtcDay } from "#platform/time.ts";

/**
 * The rules of the ledger, pure: what a batch of operations does to the rows it touches. Each store locks and reads the
 * rows, lets `decideBatch` say what changes, and writes that in the same transaction; so no store has rules of its own.
 */

export type AccountId = string;

export interface AccountRow {
  readonly id: AccountId;
  readonly held: number;
  readonly spent: number;
  /** What attempts have cost beyond their holds; part of `spent`. */
  readonly overrun: number;
  /** The hard cap that the last admission was measured against; null before the first. */
  readonly hard: number | null;
  /** An operator's own hard cap; null when the policy's holds. */
  readonly ownHard: number | null;
}

export const openStates = ["HELD", "UNRESOLVED"] as const;
export type ReservationState = (typeof openStates)[number] | "SETTLED" | "RELEASED" | "EXPIRED_CHARGED" | "CORRECTED";

export interface ReservationRow {
  readonly id: ReservationId;
  readonly requestId: string;
  readonly attempt: number;
  readonly goalAccount: AccountId;
  readonly dayAccount: AccountId;
  readonly hold: number;
  readonly actual: number | null;
  readonly source: ActualSource | null;
  readonly state: ReservationState;
  readonly model: string;
  readonly nodeId: string;
  readonly nodeEpoch: number;
  readonly dispatched: boolean;
  readonly createdMs: number;
  readonly expiresMs: number;
  readonly closedMs: number | null;
}

/** The reason of an entry that holds money: whether its call goes out at once, and the prices that the hold is made of. */
function admissionOf({ dispatched }: ReservationRow, { priceVersion }: Reservation): string {
  const when = dispatched ? "dispatched" : "not_dispatched";
  return priceVersion === undefined ? when : `${when}, prices ${priceVersion}`;
}

/** What moved, and why. Each event happens to a reservation at most once; the amounts are signed. */
export interface EntryRow {
  readonly reservationId: ReservationId;
  readonly event: "admitted" | "unresolved" | "settled" | "released" | "expired_charged" | "corrected";
  readonly held: number;
  readonly spent: number;
  readonly overrun: number;
  readonly reason: string;
  readonly nodeId: string;
  readonly atMs: number;
}

/** A gateway process; `epoch` rises with each of its starts. */
export interface NodeIdentity {
  readonly id: string;
  readonly epoch: number;
}

export type Operation =
  | { readonly kind: "reserve"; readonly reservation: Reservation }
  | { readonly kind: "dispatch"; readonly id: ReservationId }
  | { readonly kind: "resolve"; readonly resolution: Resolution }
  /** A reservation of this node whose caller was told `unavailable`: it was never used, whatever its row says. */
  | { readonly kind: "cancel"; readonly id: ReservationId }
  /** The deadline may have passed. */
  | { readonly kind: "expire"; readonly id: ReservationId }
  /** The owner is dead: it started anew, or was silent too long. */
  | { readonly kind: "orphan"; readonly id: ReservationId };

export interface Batch {
  readonly node: NodeIdentity;
  readonly operations: readonly Operation[];
}

export type OperationReply =
  | ReserveReply
  /** The operation is in the books, or had no place in them; either way it is done. */
  | { readonly kind: "done" }
  /** Answer to `dispatch`: no longer held. */
  | { readonly kind: "not_held" };

/** What happened to a reservation, for logs, metrics and records. Written once per change, after it is durable. */
export type LedgerNotice =
  | {
      readonly kind: "resolved";
      readonly id: ReservationId;
      readonly requestId: string;
      readonly attempt: number;
      readonly model: string;
      readonly state: ReservationState;
      readonly hold: number;
      /** What the accounts were charged: the actual cost, the hold, or 0. */
      readonly charged: number;
      readonly reason: string;
      /** Present when the hold was taken over: the dead node that it belonged to. */
      readonly orphanOf?: string;
    }
  /** Actual cost above the hold: a defect or a price change. Charged in full. */
  | {
      readonly kind: "overrun";
      readonly id: ReservationId;
      readonly model: string;
      readonly hold: number;
      readonly actual: number;
    }
  /** A stated cost so far above the hold that it is not believed: the hold is charged. */
  | {
      readonly kind: "cost_distrusted";
      readonly id: ReservationId;
      readonly requestId: string;
      readonly model: string;
      readonly hold: number;
      readonly stated: number;
    }
  /** A repeat with other numbers, or for a reservation that cannot take it any more: ignored. */
  | {
      readonly kind: "ignored";
      readonly id: ReservationId;
      readonly state: ReservationState | "absent";
      readonly why: string;
    };

export interface BatchReply {
  /** One per operation, in their order. */
  readonly replies: readonly OperationReply[];
  /** The accounts touched, as they stand after the batch. */
  readonly accounts: readonly AccountRow[];
  readonly day: UtcDay;
  readonly notices: readonly LedgerNotice[];
}

/** A call whose cost the aggregator is to be asked about, first at `nextMs`. */
export interface LookupRow {
  readonly reservationId: ReservationId;
  readonly generationId: string;
  readonly nextMs: number;
}

/** An aggregator's record of a call appears some seconds after it. */
const firstLookupMs = 3_000;
/** How often a call is asked about: with a pause of 5 s that doubles, for some five minutes. */
export const maxLookups = 7;
/** Milliseconds after the first claim; each later one doubles it. */
export const lookupPauseMs = 5_000;
/** What nobody has asked about for so long (nobody was to, or no gateway ran) is not asked about any more. */
export const staleLookupMs = 86_400_000;
/** More than this are not kept: those that are due first go first. */
export const maxKeptLookups = 10_000;

export interface Changes {
  readonly lookups: readonly LookupRow[];
  readonly accounts: readonly { readonly before: AccountRow; readonly after: AccountRow }[];
  readonly inserted: readonly ReservationRow[];
  readonly updated: readonly { readonly before: ReservationRow; readonly after: ReservationRow }[];
  readonly entries: readonly EntryRow[];
}

/** The rows of one transaction. Accounts that do not exist yet are empty ones. */
export interface BooksView {
  account(id: AccountId): AccountRow;
  reservation(id: ReservationId): ReservationRow | undefined;
}

export interface Moment {
  readonly nowMs: number;
  readonly day: UtcDay;
}

/** A hold expires this long after the deadline of its attempt. */
export const expiryGraceMs = 60_000;
/** A node that has not been heard of for this long is taken for dead. */
export const nodeSilentMs = 60_000;

export function emptyAccount(id: AccountId): AccountRow {
  return { id, held: 0, spent: 0, overrun: 0, hard: null, ownHard: null };
}

export function dayAccountOf(day: UtcDay): AccountId {
  return `day/${day}`;
}

/** Names that every store takes as they are; no control characters, no lone surrogates, not the namespace of `adhoc`. */
const plainGoal = /^(?!adhoc(?:\/|$))(?!sha256:)[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]{1,200}$/u;

/** What nearly all goals look like, told apart without Unicode tables. */
const simpleGoal = /^(?!adhoc|sha256)[A-Za-z0-9_./-]{1,200}$/;

/** `goal/<goal>`; the `adhoc` goal has one account a day. Unusual names stand as their SHA-256. */
export function goalAccountOf(goal: GoalId, day: UtcDay): AccountId {
  if (goal === adhocGoal) return `goal/adhoc/${day}`;
  if (simpleGoal.test(goal)) return `goal/${goal}`;
  if (plainGoal.test(goal)) return `goal/${goal}`;
  return `goal/sha256:${createHash("sha256").update(goal, "utf16le").digest("hex")}`;
}

export function isOpen(state: ReservationState): boolean {
  return state === "HELD" || state === "UNRESOLVED";
}

/** What a reservation has taken from its accounts for good. */
export function chargedOf(row: Pick<ReservationRow, "state" | "actual" | "hold">): number {
  if (row.state === "SETTLED" || row.state === "CORRECTED") return row.actual ?? row.hold;
  return row.state === "EXPIRED_CHARGED" ? row.hold : 0;
}

/** Whether what a row was closed with is only the best that was known then. */
function isEstimate(source: ActualSource | null): boolean {
  return source === "at_least" || source === "operator";
}

/** Whether the upstream's own figure would still change what this reservation is charged. */
function isGuess({ state, source }: ReservationRow): boolean {
  return state === "UNRESOLVED" || state === "EXPIRED_CHARGED" || (state === "SETTLED" && isEstimate(source));
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
  if (most <= mostUsd) return row;
  return {
    id: row.id,
    held: Math.min(held, mostUsd),
    spent: Math.min(spent, mostUsd),
    overrun: Math.min(overrun, mostUsd),
    hard: hard === null ? null : Math.min(hard, mostUsd),
    ownHard: ownHard === null ? null : Math.min(ownHard, mostUsd),
  };
}

/** A sum that has reached `mostUsd` stays there: how far above it is nobody knows. */
function moved(sum: number, by: number): number {
  return sum >= mostUsd ? mostUsd : Math.min(sum + by, mostUsd);
}

export function spendOf(day: UtcDay, goalRow: Balance, dayRow: Balance): Spend {
  return {
    day,
    goalAccount: accountSpendOf(goalRow),
    dayAccount: accountSpendOf(dayRow),
    ...(goalRow.ownHard === null ? {} : { goalHardOverride: nanoUsd(goalRow.ownHard) }),
    ...(dayRow.ownHard === null ? {} : { dayHardOverride: nanoUsd(dayRow.ownHard) }),
  };
}

/**
 * Applies the operations in their order. Whoever forms the batch puts what gives money back before what takes it.
 * Throws nothing for any input that the types allow.
 */
export function decideBatch(batch: Batch, view: BooksView, moment: Moment): { reply: BatchReply; changes: Changes } {
  const books = new WorkingBooks(view, batch.node, moment);
  const replies = batch.operations.map((operation) => books.apply(operation));
  const changes = books.changes();
  return {
    reply: { replies, accounts: books.touchedAccounts(), day: moment.day, notices: books.notices },
    changes,
  };
}

const done: OperationReply = { kind: "done" };

/** An account while the batch runs: hot ones move with every operation, so they move in place. */
class WorkingAccount {
  readonly before: AccountRow;
  readonly ownHard: number | null;
  held: number;
  spent: number;
  overrun: number;
  hard: number | null;

  constructor(before: AccountRow) {
    this.before = before;
    this.ownHard = before.ownHard;
    this.held = before.held;
    this.spent = before.spent;
    this.overrun = before.overrun;
    this.hard = before.hard;
  }

  move(held: number, spent: number, overrun: number): void {
    this.held += held;
    this.spent = moved(this.spent, spent);
    this.overrun = moved(this.overrun, overrun);
  }
}

/** The row as it stands now; the very same object as before where nothing has changed. */
function rowOf({ before, held, spent, overrun, hard }: WorkingAccount): AccountRow {
  if (held === before.held && spent === before.spent && overrun === before.overrun && hard === before.hard)
    return before;
  return { id: before.id, held, spent, overrun, hard, ownHard: before.ownHard };
}

class WorkingBooks {
  readonly notices: LedgerNotice[] = [];
  private readonly accounts = new Map<AccountId, WorkingAccount>();
  private readonly rows = new Map<
    ReservationId,
    { before: ReservationRow | undefined; after: ReservationRow | undefined }
  >();
  private readonly entries: EntryRow[] = [];
  private readonly lookups: LookupRow[] = [];
  private readonly view: BooksView;
  private readonly node: NodeIdentity;
  private readonly moment: Moment;

  constructor(view: BooksView, node: NodeIdentity, moment: Moment) {
    this.view = view;
    this.node = node;
    this.moment = moment;
  }

  apply(operation: Operation): OperationReply {
    switch (operation.kind) {
      case "reserve":
        return this.reserve(operation.reservation);
      case "dispatch":
        return this.dispatch(operation.id);
      case "resolve":
        return this.resolveLookedUp(operation.resolution);
      case "cancel":
        return this.cancel(operation.id);
      case "expire":
        return this.expire(operation.id);
      case "orphan":
        return this.orphan(operation.id);
    }
  }

  touchedAccounts(): AccountRow[] {
    return [...this.accounts.values()].map(rowOf);
  }

  changes(): Changes {
    const inserted: ReservationRow[] = [];
    const updated: { before: ReservationRow; after: ReservationRow }[] = [];
    for (const { before, after } of this.rows.values()) {
      if (after === undefined || after === before) continue;
      if (before === undefined) inserted.push(after);
      else updated.push({ before, after });
    }
    const accounts: Changes["accounts"][number][] = [];
    for (const account of this.accounts.values()) {
      const after = rowOf(account);
      if (after !== account.before) accounts.push({ before: account.before, after });
    }
    return { accounts, inserted, updated, entries: this.entries, lookups: this.lookups };
  }

  private reserve(reservation: Reservation): OperationReply {
    // So an attempt can never be held twice, under two ids.
    if (reservation.id !== reservationIdOf(reservation.requestId, reservation.attempt)) {
      return { kind: "unavailable", reason: "the id of a reservation must be that of its request and attempt" };
    }
    const goalAccount = goalAccountOf(reservation.goal, this.moment.day);
    const dayAccount = dayAccountOf(this.moment.day);
    const existing = this.row(reservation.id);
    if (existing !== undefined) return this.sameAgain(existing, reservation);

    const goalRow = this.account(goalAccount);
    const dayRow = this.account(dayAccount);
    const goalHard = goalRow.ownHard ?? reservation.perGoalHard;
    const dayHard = dayRow.ownHard ?? reservation.perDayHard;
    const goalRoom = goalHard - goalRow.spent - goalRow.held;
    const dayRoom = dayHard - dayRow.spent - dayRow.held;
    if (reservation.amount > goalRoom || reservation.amount > dayRoom) {
      // Waiting mends a refusal only if every cap that refuses would have room without the running holds.
      const waitable = reservation.amount <= goalRoom + goalRow.held && reservation.amount <= dayRoom + dayRow.held;
      const binding = goalRoom <= dayRoom ? "goal" : "day";
      return {
        kind: "refused",
        binding,
        spend: spendOf(this.moment.day, goalRow, dayRow),
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
      nodeId: this.node.id,
      nodeEpoch: this.node.epoch,
      dispatched: reservation.dispatch !== "later",
      createdMs: this.moment.nowMs,
      expiresMs: this.moment.nowMs + reservation.deadlineMs + expiryGraceMs,
      closedMs: null,
    };
    this.put(row);
    this.enter(row, "admitted", row.hold, 0, 0, admissionOf(row, reservation));
    goalRow.hard = goalHard;
    dayRow.hard = dayHard;
    return { kind: "held", day: this.moment.day, spend: spendOf(this.moment.day, goalRow, dayRow) };
  }

  /** The same id again: a repeat after a lost reply, or a defect of the caller. */
  private sameAgain(row: ReservationRow, reservation: Reservation): OperationReply {
    const same =
      row.requestId === reservation.requestId &&
      row.attempt === reservation.attempt &&
      row.hold === reservation.amount &&
      row.model === reservation.modelKey;
    if (!same || row.state !== "HELD" || row.nodeId !== this.node.id || row.nodeEpoch !== this.node.epoch) {
      this.ignore(row.id, row.state, same ? "reserved again after it was closed" : "reserved again with other numbers");
      return { kind: "unavailable", reason: "this reservation is already used" };
    }
    const day = row.dayAccount.slice("day/".length);
    return {
      kind: "held",
      day,
      spend: spendOf(day, this.account(row.goalAccount), this.account(row.dayAccount)),
    };
  }

  private dispatch(id: ReservationId): OperationReply {
    const row = this.row(id);
    if (row === undefined || row.state !== "HELD") return { kind: "not_held" };
    if (!row.dispatched) this.put({ ...row, dispatched: true });
    return done;
  }

  private cancel(id: ReservationId): OperationReply {
    const row = this.row(id);
    // Another node, or an earlier life of this one, may have been told `held` under the same id.
    if (row === undefined || row.nodeId !== this.node.id || row.nodeEpoch !== this.node.epoch) return done;
    return this.resolve(id, { to: "released", reason: "never_used", source: null });
  }

  private expire(id: ReservationId): OperationReply {
    const row = this.row(id);
    if (row === undefined || !isOpen(row.state) || row.expiresMs > this.moment.nowMs) return done;
    return this.resolve(
      id,
      row.dispatched
        ? { to: "charged", reason: "deadline_passed", distrusted: undefined }
        : { to: "released", reason: "never_dispatched", source: null },
    );
  }

  private orphan(id: ReservationId): OperationReply {
    const row = this.row(id);
    if (row === undefined || row.state !== "HELD") return done;
    const at = this.notices.length;
    const reply = this.resolve(
      id,
      row.dispatched
        ? { to: "unknown", reason: "owner_died" }
        : { to: "released", reason: "never_dispatched", source: null },
    );
    const notice = this.notices[at];
    if (notice?.kind === "resolved") this.notices[at] = { ...notice, orphanOf: row.nodeId };
    return reply;
  }

  private resolveLookedUp(resolution: Resolution): OperationReply {
    const { id, generationId } = resolution;
    if (generationId === undefined) return this.resolve(id, eventOf(resolution));
    const before = this.row(id);
    const reply = this.resolve(id, eventOf(resolution));
    const after = this.row(id);
    // Only where it was this that ended the call, and there is still something to learn.
    if (before?.state === "HELD" && after !== undefined && isGuess(after)) {
      this.lookups.push({ reservationId: id, generationId, nextMs: this.moment.nowMs + firstLookupMs });
    }
    return reply;
  }

  private resolve(id: ReservationId, event: CloseEvent): OperationReply {
    const row = this.row(id);
    if (row === undefined) {
      this.ignore(id, "absent", `${event.to} for a reservation that is not in the books`);
      return done;
    }
    switch (row.state) {
      case "HELD":
      case "UNRESOLVED":
        this.closeOpen(row, event);
        return done;
      case "EXPIRED_CHARGED":
        if (event.to === "settled") this.correct(row, event.actual, event.source, event.reason);
        else if (event.to === "released") this.correct(row, 0, event.source, event.reason);
        return done;
      case "SETTLED":
      case "CORRECTED":
      case "RELEASED":
        if (repeats(row, event)) return done;
        // An estimate gives way to the fact. Once: a corrected row stays as it is.
        if (
          row.state !== "CORRECTED" &&
          isEstimate(row.source) &&
          event.to === "settled" &&
          !isEstimate(event.source)
        ) {
          this.correct(row, event.actual, event.source, event.reason);
        } else {
          this.ignore(id, row.state, `${describe(event)} after ${row.state}`);
        }
        return done;
    }
  }

  private closeOpen(row: ReservationRow, event: CloseEvent): void {
    const closed = { closedMs: this.moment.nowMs };
    switch (event.to) {
      case "settled": {
        const overrun = Math.max(0, event.actual - row.hold);
        const after: ReservationRow = {
          ...row,
          ...closed,
          state: "SETTLED",
          actual: event.actual,
          source: event.source,
        };
        this.put(after);
        this.enter(after, "settled", -row.hold, event.actual, overrun, event.reason);
        if (overrun > 0) this.noticeOverrun(row, event.actual);
        return;
      }
      case "released": {
        const after: ReservationRow = { ...row, ...closed, state: "RELEASED", source: event.source };
        this.put(after);
        this.enter(after, "released", -row.hold, 0, 0, event.reason);
        return;
      }
      case "charged": {
        const after: ReservationRow = { ...row, ...closed, state: "EXPIRED_CHARGED" };
        this.put(after);
        this.enter(after, "expired_charged", -row.hold, row.hold, 0, event.reason);
        if (event.distrusted !== undefined) {
          const { id, requestId, model, hold } = row;
          this.notices.push({ kind: "cost_distrusted", id, requestId, model, hold, stated: event.distrusted });
        }
        return;
      }
      case "unknown": {
        if (row.state === "UNRESOLVED") return;
        // Somebody says that the outcome is unknown, so somebody has sent the call: it can be billed from here on.
        const after: ReservationRow = { ...row, state: "UNRESOLVED", dispatched: true };
        this.put(after);
        this.enter(after, "unresolved", 0, 0, 0, event.reason);
        return;
      }
    }
  }

  /** The hold, or an estimate, was charged; now the real cost is known. Once. */
  private correct(row: ReservationRow, actual: number, source: ActualSource | null, reason: string): void {
    const before = chargedOf(row);
    const overrun = Math.max(0, actual - row.hold) - Math.max(0, before - row.hold);
    const after: ReservationRow = { ...row, state: "CORRECTED", actual, source, closedMs: this.moment.nowMs };
    this.put(after);
    this.enter(after, "corrected", 0, actual - before, overrun, reason);
    if (overrun > 0) this.noticeOverrun(row, actual);
  }

  private noticeOverrun(row: ReservationRow, actual: number): void {
    this.notices.push({ kind: "overrun", id: row.id, model: row.model, hold: row.hold, actual });
  }

  /** Writes what moved and moves it: in both accounts of the reservation alike. */
  private enter(
    row: ReservationRow,
    event: EntryRow["event"],
    held: number,
    spent: number,
    overrun: number,
    reason: string,
  ): void {
    const { id: nodeId } = this.node;
    this.entries.push({
      reservationId: row.id,
      event,
      held,
      spent,
      overrun,
      reason: reason.slice(0, 200),
      nodeId,
      atMs: this.moment.nowMs,
    });
    if (held !== 0 || spent !== 0 || overrun !== 0) {
      this.account(row.goalAccount).move(held, spent, overrun);
      this.account(row.dayAccount).move(held, spent, overrun);
    }
    if (event !== "admitted") {
      this.notices.push({
        kind: "resolved",
        id: row.id,
        requestId: row.requestId,
        attempt: row.attempt,
        model: row.model,
        state: row.state,
        hold: row.hold,
        charged: chargedOf(row),
        reason,
      });
    }
  }

  private ignore(id: ReservationId, state: ReservationState | "absent", why: string): void {
    this.notices.push({ kind: "ignored", id, state, why });
  }

  private account(id: AccountId): WorkingAccount {
    let account = this.accounts.get(id);
    if (account === undefined) {
      account = new WorkingAccount(this.view.account(id));
      this.accounts.set(id, account);
    }
    return account;
  }

  private row(id: ReservationId): ReservationRow | undefined {
    let entry = this.rows.get(id);
    if (entry === undefined) {
      const row = this.view.reservation(id);
      entry = { before: row, after: row };
      this.rows.set(id, entry);
    }
    return entry.after;
  }

  private put(row: ReservationRow): void {
    const entry = this.rows.get(row.id);
    if (entry === undefined) throw new Error(`reservation ${row.id} written before it was read`);
    entry.after = row;
  }
}

type CloseEvent =
  | {
      readonly to: "settled";
      readonly actual: NanoUsd;
      readonly source: ActualSource;
      readonly reason: string;
    }
  | { readonly to: "released"; readonly reason: string; readonly source: "operator" | null }
  | { readonly to: "charged"; readonly reason: string; readonly distrusted: NanoUsd | undefined }
  | { readonly to: "unknown"; readonly reason: string };

function eventOf(resolution: Resolution): CloseEvent {
  switch (resolution.kind) {
    case "settled": {
      const { actual, source, reason = source } = resolution;
      return { to: "settled", actual, source, reason };
    }
    case "released":
      return { to: "released", reason: resolution.reason, source: resolution.source ?? null };
    case "charged":
      return { to: "charged", reason: resolution.reason, distrusted: resolution.distrusted };
    case "unknown":
      return { to: "unknown", reason: resolution.reason };
  }
}

/** Whether an event says again what is in the books already. */
function repeats(row: ReservationRow, event: CloseEvent): boolean {
  switch (event.to) {
    case "settled":
      return row.actual === event.actual && row.state !== "RELEASED";
    case "released":
      return row.state === "RELEASED" || (row.state === "CORRECTED" && row.actual === 0);
    // Weaker news about something that is known by now: late, not wrong.
    case "charged":
    case "unknown":
      return row.state !== "RELEASED";
  }
}

function describe(event: CloseEvent): string {
  return event.to === "settled" ? `settled at ${event.actual}` : event.to;
}

/** The reservation that an operation is about. */
export function idOf(operation: Operation): ReservationId {
  switch (operation.kind) {
    case "reserve":
      return operation.reservation.id;
    case "resolve":
      return operation.resolution.id;
    default:
      return operation.id;
  }
}
