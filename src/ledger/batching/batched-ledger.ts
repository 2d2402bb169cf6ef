import { nanoUsd } from "#domain/money/money.ts";
import type {
  AccountSpend,
  BillingLookup,
  BillingLookups,
  GoalId,
  HeldMoney,
  Ledger,
  LedgerStatus,
  Reservation,
  ReservationId,
  ReserveReply,
  Resolution,
  Spend,
} from "#ledger/ledger.ts";
import { RecentMap } from "#ledger/recent-map.ts";
import { accountSpendOf, dayAccountOf, emptyAccount, goalAccountOf, spendOf } from "#ledger/rules/accounts.ts";
import type { BatchReply, LedgerNotice, Operation, OperationReply } from "#ledger/rules/operations.ts";
import type { AccountId, AccountRow, NodeIdentity, ReservationState } from "#ledger/rules/rows.ts";
import { asStoreFailure, type LedgerStore, type StoreFailure } from "#ledger/store.ts";
import { type Clock, type Random, type Timers, type UtcDay, utcDayOf } from "#platform/time.ts";
import { HoldMonitor } from "./hold-monitor.ts";

/** What the ledger has to say beside its replies; for the log, metrics and records. */
export type LedgerEvent =
  | LedgerNotice
  /** The store cannot be reached at the start of the process, which waits for it. */
  | { readonly kind: "store_awaited"; readonly message: string; readonly withinMs: number }
  /** The store stopped answering; admission is closed until `store_back`. */
  | { readonly kind: "store_away"; readonly message: string }
  | { readonly kind: "store_back"; readonly awayMs: number }
  /** The store's word cannot be trusted any more: nothing is admitted until the process is started anew. */
  | {
      readonly kind: "store_failed";
      readonly message: string;
      readonly failed: NonNullable<LedgerStatus["failed"]>;
    }
  /** Nobody has ever used this store. `expected`: there should have been one with a past. */
  | { readonly kind: "store_empty"; readonly expected: boolean }
  /** The newest day in the ledger is ahead of the clock: until then all spending counts to it. */
  | { readonly kind: "day_ahead"; readonly day: UtcDay; readonly today: UtcDay }
  /** Resolutions that could not be kept or written: their holds expire and are charged. */
  | { readonly kind: "resolutions_dropped"; readonly count: number; readonly message: string }
  /** Holds of gateways that have died are this node's to end now: so many that may have been billed, so much money. */
  | {
      readonly kind: "taken_over";
      readonly nodes: readonly string[];
      readonly unresolved: number;
      readonly unresolvedNanoUsd: number;
      /** Never dispatched, so given back. */
      readonly released: number;
    }
  | { readonly kind: "pruned"; readonly reservations: number };

export interface BatchedLedgerOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: (event: LedgerEvent) => void;
  /** How long closed reservations and their entries are kept. */
  readonly retentionMs: () => number;
  /** Whether the store should have been used before (`budget.expect_ledger`); false when absent. */
  readonly expectUsed?: () => boolean;
  /**
   * Goes on after a turn of the event loop, so that a batch holds more; asked again until a turn has had nothing to do, some
   * milliseconds at most. Without it a batch begins after what runs now (as a microtask).
   */
  readonly coalesce?: (begin: () => void) => void;
}

/** Operations in one transaction. */
const maxBatch = 256;
/** A caller waits no longer than this. */
const answerLimitMs = 1_000;
/** A batch begins after an idle turn of the event loop, and no later than this. */
const maxGatherMs = 6;
/** A turn that takes longer has had something to do: more operations may come of it. */
const idleTurnMs = 0.03;
const maxQueuedReserves = 4_096;
/** Resolutions that wait for the store in memory, some 20 MB. */
const maxWaitingResolutions = 100_000;
/** Resolutions in one item of the queue, so that one call cannot make a batch of unbounded size. */
const maxPerItem = 64;
const maxCachedAccounts = 10_000;
const maxAcknowledged = 25_000;
const beatEveryMs = 5_000;
/** Clocks of a gateway and its database may differ by this much around midnight. */
const clockToleranceMs = 300_000;
const sweepEveryMs = 5_000;
const pruneEveryMs = 600_000;
const holdsEveryMs = 10_000;
/** Names of dead nodes that one event gives. */
const maxNamedNodes = 10;
const pruneChunk = 500;
const dueChunk = 128;
const firstBackoffMs = 20;
const maxBackoffMs = 500;
/** A batch that fails for no longer than this is contention, not an outage. */
const awayAfterMs = 250;
const writeAttempts = 3;

/** Resolutions that reads wait for: those that were handed in since the generation before it was closed. */
interface Generation {
  outstanding: number;
  readonly written: PromiseWithResolvers<void>;
}

/** What waits in the queue: operations that must be written together, and who wants to know. */
interface QueueItem {
  readonly operations: readonly Operation[];
  /** Told the reply to the last of the operations; undefined when there is none. */
  readonly answer: (reply: OperationReply | undefined) => void;
  readonly sinceMs: number;
  /** Reserves and dispatch marks are answered within the limit; all else waits as long as it takes. */
  readonly impatient: boolean;
  /** What its resolutions are counted in. */
  readonly generation: Generation;
  /** Whether the store may have seen it. */
  sent: boolean;
  abandoned: boolean;
  /** Written alone, because a batch with it could not be written. */
  solo: boolean;
  failures: number;
}

/** A batch that the store has and has not answered. */
interface InFlightBatch {
  readonly items: readonly QueueItem[];
}

/**
 * A ledger over any store. Every operation of this process goes through one queue: one batch is in flight, and what arrives
 * meanwhile forms the next, so the store's slowest step (a sync to disk, a round trip) is paid once for all of them. A store
 * that can make use of it is given the next batch early, once that is full.
 */
export class BatchedLedger implements Ledger, BillingLookups {
  private readonly store: LedgerStore;
  private readonly node: NodeIdentity;
  private readonly options: BatchedLedgerOptions;
  private queue: QueueItem[] = [];
  /** In the order of their batches: one, or two where the store takes the next one early. */
  private flights: readonly InFlightBatch[] = [];
  /** What came back unwritten, until all that was sent behind it has come back too. */
  private returned: (InFlightBatch & { readonly failure?: StoreFailure })[] = [];
  private queuedReserves = 0;
  private waitingResolutions = 0;
  private pumpScheduled = false;
  private backingOff = false;
  private backoffMs = firstBackoffMs;
  private failingSinceMs: number | undefined;
  private away = false;
  private failed: { readonly reason: string; readonly kind: NonNullable<LedgerStatus["failed"]> } | undefined;
  private warnedDay: UtcDay | undefined;
  private closing = false;
  private stopped = false;
  private whenIdle: (() => void) | undefined;
  private cancelLimitTimer: (() => void) | undefined;
  private readonly upkeepTimers = new Map<string, () => void>();
  private readonly accounts = new RecentMap<AccountId, AccountRow>(maxCachedAccounts);
  private day: UtcDay | undefined;
  /** Reserves that wait for their answer. */
  private readonly pending = new Map<ReservationId, Promise<ReserveReply>>();
  /** The latest ids that were answered `held`, and when. */
  private readonly acknowledged = new RecentMap<ReservationId, number>(maxAcknowledged);
  private wantedReads: { readonly goal: GoalId; readonly answer: (spend: Spend | undefined) => void }[] = [];
  private reading = false;
  /** The generation that resolutions join now. */
  private generation = newGeneration();
  /** Earlier generations that are not written yet, oldest first; there is one more only for a read that waits for it. */
  private closedGenerations: Generation[] = [];
  private typicalHoldMs = 5_000;
  private readonly holdWatch: HoldMonitor;
  /** What the sweep under way has taken over from dead nodes. */
  private takenOver = { nodes: new Set<string>(), unresolved: 0, unresolvedNanoUsd: 0, released: 0 };

  /** Joins the store as a node, resolves what an earlier life of the node left behind, and begins the upkeep. */
  static async open(store: LedgerStore, nodeId: string, options: BatchedLedgerOptions): Promise<BatchedLedger> {
    const node = await store.join(nodeId);
    const ledger = new BatchedLedger(store, node, options);
    if (store.empty !== undefined) {
      options.log({ kind: "store_empty", expected: store.empty.expected || options.expectUsed?.() === true });
    }
    await ledger.lookAtDay();
    ledger.every("beat", beatEveryMs, () => ledger.beat());
    ledger.every("sweep", sweepEveryMs, () => ledger.sweep());
    ledger.every("prune", pruneEveryMs, () => ledger.prune());
    ledger.every("holds", holdsEveryMs, async () => void (await ledger.holdWatch.look()));
    // Not awaited: what an earlier life left behind is safe where it is, and admission need not wait for it.
    ledger.sweep().catch((error: unknown) => ledger.upkeepFailed(error));
    return ledger;
  }

  private constructor(store: LedgerStore, node: NodeIdentity, options: BatchedLedgerOptions) {
    this.store = store;
    this.node = node;
    this.options = options;
    this.holdWatch = new HoldMonitor(() => store.openHolds(), options.clock);
  }

  reserve(reservation: Reservation, closing: readonly Resolution[] = []): Promise<ReserveReply> {
    const pending = this.pending.get(reservation.id);
    if (pending !== undefined) {
      // The same call again while the first one waits: one reservation, one answer.
      if (closing.length > 0) void this.resolve(closing);
      return pending;
    }
    const refusal = this.refusalToQueue();
    if (refusal !== undefined) {
      if (closing.length > 0) void this.resolve(closing);
      return Promise.resolve({ kind: "unavailable", reason: refusal });
    }
    const operations: Operation[] = closing.map((resolution) => ({ kind: "resolve", resolution }));
    operations.push({ kind: "reserve", reservation });
    this.waitingResolutions += closing.length;
    const answer = new Promise<ReserveReply>((resolve) => {
      this.enqueue(operations, true, (reply) => {
        this.pending.delete(reservation.id);
        switch (reply?.kind) {
          case "held":
            this.track(reservation.id);
            return resolve(reply);
          case "refused":
            return resolve(reply.retryAfterMs === undefined ? reply : { ...reply, retryAfterMs: this.retryAfterMs() });
          case "unavailable":
            // It may be in the books all the same: from a try whose reply was lost, taken up by another node since.
            if (this.mayCancel(reservation.id)) this.cancelReserve(reservation.id);
            return resolve(reply);
          default:
            return resolve({
              kind: "unavailable",
              reason: this.failed?.reason ?? "the budget store did not answer in time",
            });
        }
      });
    });
    this.pending.set(reservation.id, answer);
    return answer;
  }

  resolve(resolutions: readonly Resolution[]): Promise<void> {
    if (resolutions.length === 0) return Promise.resolve();
    if (this.stopped || this.waitingResolutions + resolutions.length > maxWaitingResolutions) {
      this.dropped(resolutions.length, this.stopped ? "the ledger is closed" : "too many wait for the budget store");
      return Promise.resolve();
    }
    this.waitingResolutions += resolutions.length;
    const waits: Promise<void>[] = [];
    for (let from = 0; from < resolutions.length; from += maxPerItem) {
      const operations = resolutions
        .slice(from, from + maxPerItem)
        .map((resolution): Operation => ({ kind: "resolve", resolution }));
      waits.push(new Promise((resolve) => this.enqueue(operations, false, () => resolve())));
    }
    return waits.length === 1 && waits[0] !== undefined ? waits[0] : Promise.all(waits).then(() => undefined);
  }

  peek(goal: GoalId): Spend | undefined {
    if (this.day === undefined) return undefined;
    const goalRow = this.accounts.get(goalAccountOf(goal, this.day));
    const dayRow = this.accounts.get(dayAccountOf(this.day));
    return goalRow === undefined || dayRow === undefined ? undefined : spendOf(this.day, goalRow, dayRow);
  }

  read(goal: GoalId): Promise<Spend | undefined> {
    if (this.stopped || this.failed !== undefined) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const cancel = this.options.timers.after(answerLimitMs, () => resolve(undefined));
      const answer = (spend: Spend | undefined) => {
        cancel();
        resolve(spend);
      };
      const begin = () => {
        this.wantedReads.push({ goal, answer });
        if (!this.reading) void this.readWanted();
      };
      // What this node has been told to give back is given back first, or a caller is refused for money that is free again.
      const written = this.resolutionsWritten();
      if (written === undefined) begin();
      else void written.then(begin);
    });
  }

  /** When every resolution handed in so far is written; undefined when it is so already. */
  private resolutionsWritten(): Promise<void> | undefined {
    if (this.generation.outstanding > 0) {
      this.closedGenerations.push(this.generation);
      this.generation = newGeneration();
    }
    return this.closedGenerations.at(-1)?.written.promise;
  }

  async heldMoney(goal: GoalId): Promise<HeldMoney | undefined> {
    if (this.stopped || this.failed !== undefined || this.day === undefined) return undefined;
    let cancel = () => {};
    const late = new Promise<undefined>((resolve) => {
      cancel = this.options.timers.after(answerLimitMs, () => resolve(undefined));
    });
    const holds = await Promise.race([this.holdWatch.look(), late]);
    cancel();
    if (holds === undefined) return undefined;
    const goalAccount = goalAccountOf(goal, this.day);
    const dayAccount = dayAccountOf(this.day);
    const unresolved = holds.rows.flatMap((row) => {
      const own = { goal: row.goalAccount === goalAccount, day: row.dayAccount === dayAccount };
      return own.goal || own.day
        ? { ...own, amount: nanoUsd(row.amount), endsInMs: row.endsInMs, asked: row.asked }
        : [];
    });
    return { unresolved, typicalHoldMs: this.retryAfterMs() };
  }

  peekDay(): AccountSpend | undefined {
    const row = this.day === undefined ? undefined : this.accounts.get(dayAccountOf(this.day));
    return row === undefined ? undefined : accountSpendOf(row);
  }

  takeLookups(limit: number): Promise<readonly BillingLookup[]> {
    if (this.closing || this.failed !== undefined || this.away) return Promise.resolve([]);
    return this.store.takeLookups(limit).catch(() => []); // They stay where they are.
  }

  async dropLookups(ids: readonly ReservationId[]): Promise<void> {
    if (ids.length === 0 || this.closing || this.failed !== undefined) return;
    await this.store.dropLookups(ids).catch(() => {}); // They come back, a few times at most.
  }

  /** One read is under way at a time, for everybody who asked before it began. */
  private async readWanted(): Promise<void> {
    this.reading = true;
    while (this.wantedReads.length > 0) {
      const wanted = this.wantedReads.splice(0, maxBatch);
      const accountsOf = (day: UtcDay) => [
        ...new Set([dayAccountOf(day), ...wanted.map(({ goal }) => goalAccountOf(goal, day))]),
      ];
      try {
        const { day, accounts } = await this.store.read(accountsOf);
        const found = new Map(accounts.map((row) => [row.id, row]));
        const rowOf = (id: AccountId) => found.get(id) ?? emptyAccount(id);
        this.rememberRead(day, accountsOf(day).map(rowOf));
        for (const { goal, answer } of wanted) {
          answer(spendOf(day, rowOf(goalAccountOf(goal, day)), rowOf(dayAccountOf(day))));
        }
      } catch {
        // The store is away: that is what undefined says.
        for (const { answer } of wanted) answer(undefined);
      }
    }
    this.reading = false;
  }

  status(): LedgerStatus {
    const now = this.options.clock.monotonic();
    const underway = this.underway();
    const oldest = Math.min(underway[0]?.sinceMs ?? now, this.queue[0]?.sinceMs ?? now);
    const oldestMs = Math.max(0, now - oldest);
    const holds = this.holdWatch.latest;
    return {
      kind: this.store.kind,
      ok: !this.away && this.failed === undefined && !this.stopped && oldestMs <= answerLimitMs,
      queued: this.queue.length + underway.length,
      oldestMs,
      ...(this.failed === undefined ? {} : { failed: this.failed.kind }),
      ...(holds === undefined ? {} : { holds: { running: holds.running, unresolved: holds.unresolved } }),
    };
  }

  async close(withinMs: number): Promise<void> {
    if (this.closing) return;
    this.closing = true;
    for (const cancel of this.upkeepTimers.values()) cancel();
    if ((this.queue.length > 0 || this.isUnderway()) && this.failed === undefined) {
      await new Promise<void>((resolve) => {
        const cancel = this.options.timers.after(withinMs, resolve);
        this.whenIdle = () => {
          cancel();
          resolve();
        };
      });
    }
    this.stopped = true;
    this.cancelLimitTimer?.();
    const left = [...this.underway(), ...this.queue];
    this.queue = [];
    const lost = left.reduce((sum, item) => sum + item.operations.filter(({ kind }) => kind === "resolve").length, 0);
    if (lost > 0) this.dropped(lost, "the budget store did not answer before the process ended");
    for (const item of left) if (!item.abandoned) item.answer(undefined);
    await this.store.close();
  }

  /** Resolves what is due: passed deadlines, and holds of dead nodes. Runs by itself every few seconds. */
  async sweep(): Promise<void> {
    await this.sweepDue();
    const { nodes, ...taken } = this.takenOver;
    if (nodes.size === 0) return;
    this.takenOver = { nodes: new Set(), unresolved: 0, unresolvedNanoUsd: 0, released: 0 };
    this.options.log({ kind: "taken_over", nodes: [...nodes].slice(0, maxNamedNodes), ...taken });
  }

  private async sweepDue(): Promise<void> {
    for (;;) {
      const due = await this.store.findDue(this.node, dueChunk);
      if (due.length === 0 || this.closing) return;
      await new Promise<void>((resolve) => {
        const operations = due.map(({ id, why }): Operation => ({ kind: why === "expired" ? "expire" : "orphan", id }));
        this.enqueue(operations, false, () => resolve());
      });
      if (due.length < dueChunk || this.closing) return;
    }
  }

  /** Removes what is closed for longer than the retention, chunk by chunk. Runs by itself every ten minutes. */
  async prune(): Promise<void> {
    let total = 0;
    for (;;) {
      const removed = await this.store.prune(this.options.retentionMs(), pruneChunk);
      total += removed;
      if (removed < pruneChunk || this.closing) break;
      // Let batches of live traffic go between two chunks.
      await new Promise<void>((resolve) => this.options.timers.after(50, resolve));
    }
    if (total > 0) this.options.log({ kind: "pruned", reservations: total });
  }

  private async beat(): Promise<void> {
    await this.store.heartbeat(this.node);
    await this.lookAtDay();
    // While operations wait, theirs is the word that counts.
    if (this.queue.length === 0 && !this.isUnderway()) this.succeeded();
  }

  /** So that what is shown of today is there before the first request, and right after midnight. */
  private async lookAtDay(): Promise<void> {
    const { day, accounts } = await this.store.read((today) => [dayAccountOf(today)]);
    this.rememberRead(day, [accounts[0] ?? emptyAccount(dayAccountOf(day))]);
    const nowMs = this.options.clock.now();
    if (day > utcDayOf(nowMs + clockToleranceMs) && this.warnedDay !== day) {
      this.warnedDay = day;
      this.options.log({ kind: "day_ahead", day, today: utcDayOf(nowMs) });
    }
  }

  /** Repeats an upkeep task for as long as the ledger is open; the pause varies so that nodes do not march in step. */
  private every(name: string, pauseMs: number, task: () => Promise<void>): void {
    const schedule = () => {
      const delay = pauseMs * (0.8 + 0.4 * this.options.random());
      const cancel = this.options.timers.after(delay, () => {
        task()
          .catch((error: unknown) => this.upkeepFailed(error))
          .finally(() => {
            if (!this.closing) schedule();
          });
      });
      this.upkeepTimers.set(name, cancel);
    };
    schedule();
  }

  private upkeepFailed(error: unknown): void {
    if (this.stopped) return;
    const failure = asStoreFailure(error);
    if (isFinal(failure)) this.fail(failure);
    else this.failing(failure.message);
  }

  private refusalToQueue(): string | undefined {
    if (this.failed !== undefined) return this.failed.reason;
    if (this.closing) return "the gateway is shutting down";
    if (this.queuedReserves >= maxQueuedReserves) return "too many requests wait for the budget store";
    return undefined;
  }

  private enqueue(operations: readonly Operation[], impatient: boolean, answer: QueueItem["answer"]): void {
    const sinceMs = this.options.clock.monotonic();
    const { generation } = this;
    for (const { kind } of operations) if (givesBack(kind)) generation.outstanding += 1;
    this.queue.push({
      operations,
      answer,
      sinceMs,
      impatient,
      generation,
      sent: false,
      abandoned: false,
      solo: false,
      failures: 0,
    });
    if (impatient) {
      this.queuedReserves += 1;
      this.watchLimits();
    }
    this.schedulePump();
  }

  private schedulePump(): void {
    if (this.pumpScheduled || !this.mayPump()) return;
    this.pumpScheduled = true;
    const { clock, coalesce } = this.options;
    const begin = () => {
      this.pumpScheduled = false;
      this.pump();
    };
    if (coalesce === undefined || this.flights.length > 0) {
      queueMicrotask(begin);
      return;
    }
    const untilMs = clock.monotonic() + maxGatherMs;
    let queued = -1;
    let lookedMs = 0;
    const look = () => {
      const nowMs = clock.monotonic();
      const idle = this.queue.length === queued && nowMs - lookedMs < idleTurnMs;
      if (!idle && this.queue.length < maxBatch && nowMs < untilMs) {
        queued = this.queue.length;
        lookedMs = nowMs;
        coalesce(look);
      } else {
        begin();
      }
    };
    coalesce(look);
  }

  private mayPump(): boolean {
    if (this.backingOff || this.stopped || this.failed !== undefined || this.returned.length > 0) return false;
    const [flight] = this.flights;
    if (flight === undefined) return true;
    const { pipelineFrom } = this.store;
    if (pipelineFrom === undefined || this.flights.length > 1 || this.queue.length < pipelineFrom) return false;
    return flight.items[0]?.solo !== true && this.queue[0]?.solo !== true;
  }

  private isUnderway(): boolean {
    return this.flights.length + this.returned.length > 0;
  }

  /** The items that the store has, or has just given back. */
  private underway(): QueueItem[] {
    return [...this.returned, ...this.flights].flatMap(({ items }) => items);
  }

  private pump(): void {
    if (!this.mayPump()) return;
    const items = this.take();
    if (items.length === 0) {
      this.whenIdle?.();
      return;
    }
    const flight: InFlightBatch = { items };
    this.flights = [...this.flights, flight];
    // What gives money back comes before what takes it; reserves keep the order of their arrival.
    const operations: Operation[] = [];
    for (const { operations: own } of items) {
      for (const operation of own) if (operation.kind !== "reserve") operations.push(operation);
    }
    for (const { operations: own } of items) {
      for (const operation of own) if (operation.kind === "reserve") operations.push(operation);
    }
    for (const item of items) item.sent = true;
    this.store.commit({ node: this.node, operations }).then(
      (reply) => this.committed(flight, reply),
      (error: unknown) => this.notCommitted(flight, asStoreFailure(error)),
    );
  }

  private take(): QueueItem[] {
    let count = 0;
    let size = 0;
    for (const item of this.queue) {
      if (item.solo && count > 0) break;
      if (count > 0 && size + item.operations.length > maxBatch) break;
      size += item.operations.length;
      count += 1;
      if (item.solo) break;
    }
    return this.queue.splice(0, count);
  }

  private committed(flight: InFlightBatch, { replies, accounts, day, notices }: BatchReply): void {
    const { items } = flight;
    this.flights = this.flights.filter((one) => one !== flight);
    if (this.stopped) return;
    if (this.failed !== undefined) {
      // Written to a store that does not count any more: nobody may spend on its word.
      for (const item of items) {
        this.leave(item);
        if (!item.abandoned) item.answer(undefined);
      }
      return;
    }
    this.remember(day, accounts);
    this.succeeded();
    for (const notice of notices) {
      if (notice.kind === "resolved") {
        this.learnHoldTime(notice.id);
        if (notice.orphanOf !== undefined) this.noteTakenOver(notice.orphanOf, notice);
      }
      this.options.log(notice);
    }
    // A batch that is full already goes out before the callers of this one are answered: the store need not wait for that.
    if (this.queue.length >= maxBatch) this.pump();
    const aheadFailed = this.returned.length > 0;
    // In the order of the batch: all reserves stand behind all others.
    let other = 0;
    let reserve = 0;
    for (const item of items) for (const { kind } of item.operations) if (kind !== "reserve") reserve += 1;
    for (const item of items) {
      let last: OperationReply | undefined;
      for (const { kind } of item.operations) last = kind === "reserve" ? replies[reserve++] : replies[other++];
      if (last?.kind === "refused" && aheadFailed && !item.abandoned) {
        // What the batch ahead would have given back is not given back yet: decided again behind it.
        this.returned.push({ items: [item] });
        continue;
      }
      this.leave(item);
      if (!item.abandoned) item.answer(last);
      else if (last?.kind !== "refused") this.cancelUnused(item);
    }
    this.takeBack();
    this.schedulePump();
    if (this.queue.length === 0 && !this.isUnderway()) this.whenIdle?.();
  }

  private notCommitted(flight: InFlightBatch, failure: StoreFailure): void {
    this.flights = this.flights.filter((one) => one !== flight);
    if (this.stopped) return;
    this.returned.push({ ...flight, failure });
    this.takeBack();
  }

  /** What came back stands at the head of the queue again, in its order: so not before the last of it has come back. */
  private takeBack(): void {
    if (this.returned.length === 0 || this.flights.length > 0) return;
    const { returned } = this;
    this.returned = [];
    const failures = returned.flatMap(({ failure }) => failure ?? []);
    const final = failures.find(isFinal);
    if (final !== undefined) {
      this.queue.unshift(...returned.flatMap(({ items }) => items));
      this.fail(final);
      return;
    }
    const items = returned.flatMap(({ items: own, failure }) =>
      own.flatMap((item) => {
        if (failure?.kind === "conflict") return this.apart(item, own.length === 1, failure);
        return item.abandoned ? this.withoutReserve(item) : item;
      }),
    );
    this.queue.unshift(...items);
    const again = failures.find(({ kind }) => kind === "transient");
    if (again === undefined) {
      this.schedulePump();
      return;
    }
    this.failing(again.message);
    this.backingOff = true;
    const delay = this.backoffMs * (0.5 + 0.5 * this.options.random());
    this.backoffMs = Math.min(maxBackoffMs, this.backoffMs * 2);
    this.options.timers.after(delay, () => {
      this.backingOff = false;
      this.schedulePump();
    });
  }

  /** A batch that cannot be written is taken apart until the operation that is wrong stands alone. */
  private apart(item: QueueItem, wasAlone: boolean, failure: StoreFailure): QueueItem[] {
    if (!wasAlone) return [{ ...item, solo: true }];
    if (item.operations.length > 1) {
      // A reserve keeps its place in line and its answer; what it closes is written on its own.
      const last = item.operations.at(-1);
      const answered = last?.kind === "reserve" ? last : undefined;
      const parts = item.operations.filter((operation) => operation !== answered);
      let waiting = parts.length;
      const partDone = () => {
        waiting -= 1;
        if (waiting === 0 && answered === undefined && !item.abandoned) item.answer({ kind: "done" });
      };
      const single = { ...item, solo: true, impatient: false, abandoned: false, failures: 0 };
      const items: QueueItem[] = parts.map((operation) => ({ ...single, operations: [operation], answer: partDone }));
      if (answered !== undefined) items.push({ ...item, operations: [answered], solo: true });
      return items;
    }
    const failures = item.failures + 1;
    if (failures < writeAttempts) return [{ ...item, failures }];
    const [operation] = item.operations;
    this.leave(item);
    if (operation?.kind === "resolve") this.dropped(1, failure.message);
    if (!item.abandoned) item.answer({ kind: "unavailable", reason: "the reservation cannot be written" });
    return [];
  }

  /** The caller of a reserve was told `unavailable`: what it closes still counts, and the reserve must not. */
  private withoutReserve(item: QueueItem): QueueItem[] {
    const operations = item.operations.flatMap((operation): Operation[] => {
      if (operation.kind !== "reserve") return [operation];
      if (!item.sent || !this.mayCancel(operation.reservation.id)) return [];
      item.generation.outstanding += 1;
      return [{ kind: "cancel", id: operation.reservation.id }];
    });
    return operations.length === 0
      ? []
      : [{ ...item, operations, impatient: false, abandoned: false, answer: () => {} }];
  }

  /** The caller of an item in flight was told `unavailable` before the batch was written. */
  private cancelUnused(item: QueueItem): void {
    const last = item.operations.at(-1);
    if (last?.kind === "reserve" && this.mayCancel(last.reservation.id)) this.cancelReserve(last.reservation.id);
  }

  private cancelReserve(id: ReservationId): void {
    this.enqueue([{ kind: "cancel", id }], false, () => {});
  }

  /** Not what was acknowledged before: then this was a repeat, and the first call's hold is in use. */
  private mayCancel(id: ReservationId): boolean {
    return !this.acknowledged.has(id);
  }

  private leave(item: QueueItem): void {
    for (const { kind } of item.operations) {
      if (kind === "resolve") this.waitingResolutions -= 1;
      if (givesBack(kind)) item.generation.outstanding -= 1;
    }
    // In their order: who waits for a generation waits for those before it too.
    while (this.closedGenerations[0]?.outstanding === 0) this.closedGenerations.shift()?.written.resolve();
    if (item.impatient && !item.abandoned) this.queuedReserves -= 1;
  }

  /** One timer for all who wait: looks every few milliseconds while somebody does. */
  private watchLimits(): void {
    if (this.cancelLimitTimer !== undefined) return;
    this.cancelLimitTimer = this.options.timers.after(answerLimitMs / 20, () => {
      this.cancelLimitTimer = undefined;
      if (this.stopped) return;
      const limit = this.options.clock.monotonic() - answerLimitMs;
      const late = (item: QueueItem) => item.impatient && !item.abandoned && item.sinceMs <= limit;
      for (const item of this.underway()) if (late(item)) this.abandon(item);
      if (this.queue.some(late)) {
        this.queue = this.queue.flatMap((item) => {
          if (!late(item)) return item;
          this.abandon(item);
          return this.withoutReserve(item);
        });
      }
      if (this.queuedReserves > 0) this.watchLimits();
    });
  }

  private abandon(item: QueueItem): void {
    item.abandoned = true;
    this.queuedReserves -= 1;
    item.answer(undefined);
    this.failingSinceMs ??= item.sinceMs;
    this.failing("the budget store does not answer");
  }

  /** While a batch is in flight its reply is fresher than what a read may have seen: it will fill the cache itself. */
  private rememberRead(day: UtcDay, rows: readonly AccountRow[]): void {
    const idle = this.flights.length === 0;
    this.remember(
      day,
      rows.filter(({ id }) => idle || this.accounts.get(id) === undefined),
    );
  }

  private remember(day: UtcDay, rows: readonly AccountRow[]): void {
    if (this.day === undefined || day > this.day) this.day = day;
    for (const row of rows) this.accounts.set(row.id, row);
  }

  private track(id: ReservationId): void {
    if (!this.acknowledged.has(id)) this.acknowledged.set(id, this.options.clock.monotonic());
  }

  private learnHoldTime(id: ReservationId): void {
    const since = this.acknowledged.get(id);
    if (since === undefined) return;
    this.typicalHoldMs += (this.options.clock.monotonic() - since - this.typicalHoldMs) / 16;
  }

  private noteTakenOver(
    node: string,
    { state, hold }: { readonly state: ReservationState; readonly hold: number },
  ): void {
    this.takenOver.nodes.add(node);
    if (state === "UNRESOLVED") {
      this.takenOver.unresolved += 1;
      this.takenOver.unresolvedNanoUsd += hold;
    } else {
      this.takenOver.released += 1;
    }
  }

  /** About as long as a hold lasts here: by then some of those that run now have given back what they did not use. */
  private retryAfterMs(): number {
    return Math.round(Math.min(60_000, Math.max(1_000, this.typicalHoldMs)));
  }

  private failing(message: string): void {
    const now = this.options.clock.monotonic();
    this.failingSinceMs ??= now;
    if (this.away || now - this.failingSinceMs < awayAfterMs) return;
    this.away = true;
    this.options.log({ kind: "store_away", message });
  }

  private succeeded(): void {
    this.backoffMs = firstBackoffMs;
    if (this.away) {
      const awayMs = this.options.clock.monotonic() - (this.failingSinceMs ?? 0);
      this.options.log({ kind: "store_back", awayMs });
    }
    this.away = false;
    this.failingSinceMs = undefined;
  }

  private fail({ kind, message }: StoreFailure): void {
    if (this.failed !== undefined) return;
    const failed = kind === "lost" ? "store_lost" : "restart_needed";
    this.failed = { reason: `the budget store has failed: ${message}`, kind: failed };
    this.options.log({ kind: "store_failed", message, failed });
    for (const item of this.queue) {
      if (item.impatient && !item.abandoned) {
        item.abandoned = true;
        this.queuedReserves -= 1;
        item.answer(undefined);
      }
    }
    this.whenIdle?.();
  }

  private dropped(count: number, message: string): void {
    this.options.log({ kind: "resolutions_dropped", count, message });
  }
}

/** After such a failure nothing that the store says counts any more. */
function isFinal({ kind }: StoreFailure): boolean {
  return kind === "fatal" || kind === "lost";
}

function newGeneration(): Generation {
  return { outstanding: 0, written: Promise.withResolvers() };
}

/** Whether an operation says how a reservation of this node ended, and so may give money back. */
function givesBack(kind: Operation["kind"]): boolean {
  return kind === "resolve" || kind === "cancel";
}
