import type { WriteTransaction } from "#db/store-database.ts";
import { type CallerError, errorOf } from "#domain/errors.ts";
import type { NanoUsd } from "#domain/money/money.ts";
import type { UtcDay } from "#platform/time.ts";

/**
 * The budget ledger: true spend ≤ spent + held ≤ hard cap, at every instant, for any number of nodes, through crashes.
 * One reservation per upstream attempt. All forms (SQLite, PostgreSQL, memory) pass `ledger.contract.ts`.
 */
export interface Ledger {
  /**
   * Closes earlier attempts and holds money for the next one, as one atomic entry: a retry never counts twice and never
   * slips between two caps. Answers after the commit is durable, or with `unavailable` within a second. Never rejects.
   * A refusal for money that is held comes after 100 ms, in which some may be released. It leaves no trace, so its
   * repeat is decided anew. An id that was answered `held` or `unavailable` is not used again. The reservation is
   * written as dispatched, because dispatch follows at once and a lost mark must never make a billed call free.
   */
  reserve(reservation: Reservation, closing?: readonly Resolution[]): Promise<ReserveReply>;
  /**
   * Records how attempts ended. Resolves when that is durable; while the store is unavailable the resolutions wait in
   * memory and are repeated. Never rejects, and repeating it changes nothing.
   */
  resolve(resolutions: readonly Resolution[]): Promise<void>;
  /**
   * As `resolve`, where nobody waits for it: behind an answer that is sent. May be written some milliseconds later, in
   * one commit with the next reservation. Every `read`, every other operation and `close` have it written at once.
   */
  resolveInBackground(resolutions: readonly Resolution[]): void;
  /** Spend of a goal, its day and a capped key as this node last read it; undefined before the first read. Costs nothing. */
  peek(goal: GoalId, key?: KeyLabel): Spend | undefined;
  /**
   * Spend of a goal, its day and a capped key in the store now, including every resolution that this node was handed
   * before the call. Undefined when the store does not answer within a second. `suffices`: whether the caller can go on
   * with it; where only what is held is in the way, up to 100 ms are waited for some of it to be released.
   */
  read(goal: GoalId, key?: KeyLabel, suffices?: (spend: Spend) => boolean): Promise<Spend | undefined>;
  /**
   * What calls of unknown outcome hold in the accounts of this goal, this day and this key, as the store had it seconds
   * ago at most. Undefined when it does not say within a second. Never rejects; for refusals, not for every request.
   */
  heldMoney(goal: GoalId, key?: KeyLabel): Promise<HeldMoney | undefined>;
  /** Spend of today as this node last read it, some seconds ago at most; undefined before the first read. Costs nothing. */
  peekDay(): DaySpend | undefined;
  /** Whether the store answers now, for health checks and shedding. */
  status(): LedgerStatus;
  /** `status().oldestMs` alone, which each request asks for. */
  oldestMs(): number;
  /** Writes what waits (bounded by `withinMs`), stops timers and workers. Later calls answer `unavailable`. */
  close(withinMs: number): Promise<void>;
}

/** What a fail-over of the store has cost. */
export interface LostCommits {
  /** Batches of this node that were durable, and were not there any more. */
  readonly batches: number;
  /** Entries that it has written again. */
  readonly restored: number;
  /** Nodes that did not come back: what they had written last is not known. */
  readonly silent: readonly string[];
}

/** Of a store that has one writer (SQLite): other parts write over the ledger's connection, between its own transactions. */
export interface SharedConnection {
  /** Absent where every part has a connection of its own. Rejects when the write fails. The ledger goes on, unless the failure means that its own file is damaged. */
  readonly sharedWrite?: WriteTransaction | undefined;
}

/** The goal a request belongs to, made by `goalIdOf`: `session/goal` as the caller named it. The `adhoc` goal starts anew each UTC day. */
export type GoalId = string;
export const adhocGoal: GoalId = "adhoc";
/** What an operator calls a caller's key (`AUTH_KEYS_FILE`). */
export type KeyLabel = string;

/**
 * Made before use and unique for ever; the same id sent twice is the same reservation. Time-ordered ids
 * (`Bun.randomUUIDv7()`) keep the store's inserts together and are faster than random ones.
 */
export type ReservationId = string;

/**
 * The id of an attempt's reservation, so that it can never be held twice, under two ids. `attempt`: 1 for the first
 * upstream call of a request, 2 for the next …
 */
export function reservationIdOf(requestId: string, attempt: number): ReservationId {
  return `${requestId}.${attempt}`;
}

export interface Reservation {
  readonly id: ReservationId;
  readonly goal: GoalId;
  readonly modelKey: string;
  /** The most the attempt can cost. */
  readonly amount: NanoUsd;
  /** Names the prices that the amount is made of; part of the entry's reason. */
  readonly priceVersion?: string;
  /** Hard caps as the policy has them now; an operator's own cap for the goal or the day, kept in the store, beats them. */
  readonly perGoalHard: NanoUsd;
  readonly perDayHard: NanoUsd;
  /** The caller's key, where it has a hard cap of its own for each day. */
  readonly key?: { readonly label: KeyLabel; readonly dayHard: NanoUsd };
  /** Milliseconds the attempt may take; the hold expires 60 s after that. */
  readonly deadlineMs: number;
}

export type ReserveReply =
  | { readonly kind: "held"; readonly day: UtcDay }
  /**
   * `binding` is the cap with the least room. `retryAfterMs` is there when running holds cause the refusal, so that
   * waiting for them can mend it; absent when only a higher cap can.
   */
  | {
      readonly kind: "refused";
      readonly binding: "goal" | "day" | "key";
      readonly spend: Spend;
      readonly hard: NanoUsd;
      readonly retryAfterMs?: number;
    }
  | { readonly kind: "unavailable"; readonly reason: string };

/** How an attempt ended, as far as money is concerned. */
export type Resolution = ResolutionKinds & {
  /** The aggregator's id of the call: kept with a resolution that is not final, so that the aggregator can be asked what it billed. */
  readonly generationId?: string;
};
type ResolutionKinds =
  /**
   * Cost known. `at_least` is what a broken stream had shown when the aggregator stops billing on cancel, or all that
   * is believed of a stated cost (`distrusted`) that is too high to be one. `reason` goes into the ledger entry; the
   * source when absent.
   */
  | {
      readonly id: ReservationId;
      readonly kind: "settled";
      readonly actual: NanoUsd;
      readonly source: ActualSource;
      readonly reason?: string;
      readonly distrusted?: NanoUsd;
    }
  /**
   * Provably not billed: connect failed before a request byte, or the upstream refused (4xx). With a source it is not
   * proven but stated by an operator.
   */
  | {
      readonly id: ReservationId;
      readonly kind: "released";
      readonly reason: string;
      readonly source?: "operator";
    }
  /** Dispatched and unknown: stays held until it is known or its deadline charges it. */
  | { readonly id: ReservationId; readonly kind: "unknown"; readonly reason: string }
  /** Dispatched, never to be known: charged in full now. */
  | { readonly id: ReservationId; readonly kind: "charged"; readonly reason: string };

/** Where a cost is known from. `at_least` and `operator` are estimates: the upstream's own figure, should it come, corrects them. */
export type ActualSource = "upstream_cost" | "usage" | "at_least" | "operator";

/** Money spent and held in one account. */
export interface AccountSpend {
  readonly spent: NanoUsd;
  readonly held: NanoUsd;
}

/** A day's account, with the operator's own hard cap where one is set. */
export interface DaySpend extends AccountSpend {
  /** The part of `spent` that is the holds of calls whose cost stayed unknown. */
  readonly unproven: NanoUsd;
  readonly hardOverride?: NanoUsd;
}

export interface Spend {
  readonly day: UtcDay;
  readonly goalAccount: AccountSpend;
  readonly dayAccount: AccountSpend;
  /** Of the caller's key on this day, where it was asked for. */
  readonly keyAccount?: AccountSpend;
  /** The operator's own hard caps for this goal and this day, when set. */
  readonly goalHardOverride?: NanoUsd;
  readonly dayHardOverride?: NanoUsd;
}

/** Calls whose cost the aggregator can be asked about. Kept in the store, so that another process can go on asking. */
export interface BillingLookups {
  /** Claims those that are due; each comes back later, at growing intervals, until it is dropped. Empty when the store is unavailable. */
  takeLookups(limit: number): Promise<readonly BillingLookup[]>;
  /** Removes them: the cost is known, or never to be known. */
  dropLookups(ids: readonly ReservationId[]): Promise<void>;
}

export interface BillingLookup {
  readonly id: ReservationId;
  readonly generationId: string;
  readonly hold: NanoUsd;
  /** This is the last time that it is handed out. */
  readonly last: boolean;
}

export interface HeldMoney {
  /** Charged in full when they end, unless their cost becomes known before; those that end first at the head. */
  readonly unresolved: readonly UnresolvedHold[];
  /** About as long as the hold of a running call lasts here, in milliseconds. */
  readonly typicalHoldMs: number;
}

export interface UnresolvedHold {
  readonly amount: NanoUsd;
  /** Which of the accounts it is held in. */
  readonly goal: boolean;
  readonly day: boolean;
  readonly key: boolean;
  readonly endsInMs: number;
  /** The aggregator is being asked what the call has cost. */
  readonly asked: boolean;
}

/** Number and money of holds. */
export interface HeldSum {
  readonly count: number;
  /** Nano-USD. */
  readonly amount: number;
}

export interface LedgerStatus {
  readonly kind: "sqlite" | "postgres" | "memory";
  readonly ok: boolean;
  readonly queued: number;
  /** Age of the oldest operation that waits, in milliseconds. */
  readonly oldestMs: number;
  /** What is held in the whole store, in nano-USD, as this node last looked; absent when it has not, or long ago. */
  readonly holds?: { readonly running: HeldSum; readonly unresolved: HeldSum };
  /**
   * Set when nothing is admitted any more by this process. `restart_needed`: a sync or read has failed, and only a new
   * process can read what is really there. `store_lost`: the store was deleted, replaced or emptied; a person has to
   * look at it first.
   */
  readonly failed?: "restart_needed" | "store_lost";
  /** Set when a server has taken over that lacked what was acknowledged to this process: how much, and what could be made up for. */
  readonly lostCommits?: LostCommits;
}

/** What callers are answered while nothing can be held. */
export function outageError({ failed }: Pick<LedgerStatus, "failed">): CallerError {
  if (failed === undefined) return { ...errorOf("budget_store_unavailable"), retryAfterS: 2, shouldRetry: true };
  return { ...errorOf(`budget_store_unavailable.${failed}`), retryAfterS: undefined, shouldRetry: false };
}
