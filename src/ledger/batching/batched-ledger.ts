import { nanoUsd } from "#domain/money/money.ts";
import type {
  BillingLookup,
  BillingLookups,
  DaySpend,
  GoalId,
  HeldMoney,
  Ledger,
  LedgerStatus,
  Reservation,
  ReservationId,
  ReserveReply,
  Resolution,
  SharedConnection,
  Spend,
} from "#ledger/ledger.ts";
import { dayAccountOf, goalAccountOf } from "#ledger/rules/accounts.ts";
import type { BatchReply, Operation, OperationReply } from "#ledger/rules/operations.ts";
import type { NodeIdentity } from "#ledger/rules/rows.ts";
import { asStoreFailure, type LedgerStore, type StoreFailure } from "#ledger/store.ts";
import type { Clock, Random, Timers } from "#platform/time.ts";
import { answerLimitMs, BatchWriter } from "./batch-writer.ts";
import { HoldDurations } from "./hold-durations.ts";
import { HoldMonitor } from "./hold-monitor.ts";
import type { LedgerEvent } from "./ledger-event.ts";
import { SpendCache } from "./spend-cache.ts";
import { SpendReader } from "./spend-reader.ts";
import { StoreAvailability } from "./store-availability.ts";
import { Upkeep } from "./upkeep.ts";

export interface BatchedLedgerOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: (event: LedgerEvent) => void;
  /** How long closed reservations and their entries are kept, in milliseconds. */
  readonly retentionMs: () => number;
  /** Whether the store should have been used before (`budget.expect_ledger`); false when absent. */
  readonly expectExisting?: () => boolean;
  /**
   * Calls `begin` after a turn of the event loop, so that a batch holds more operations; used again until a turn was idle,
   * for some milliseconds at most. Without it a batch begins after what runs now (as a microtask).
   */
  readonly coalesce?: (begin: () => void) => void;
}

const maxQueuedReserves = 4_096;
/** Resolutions that wait for the store in memory, some 20 MB. */
const maxWaitingResolutions = 100_000;
/** Resolutions in one item of the queue, so that one call cannot make a batch of unbounded size. */
const maxPerItem = 64;

/**
 * A ledger over any store. Every operation of this process goes through one queue: one batch is in flight, and what arrives
 * meanwhile forms the next, so the store's slowest step (a sync to disk, a round trip) is paid once for all of them.
 */
export class BatchedLedger implements Ledger, BillingLookups, SharedConnection {
  readonly #store: LedgerStore;
  readonly #timers: Timers;
  readonly #availability: StoreAvailability;
  readonly #writer: BatchWriter;
  readonly #cache = new SpendCache();
  readonly #reader: SpendReader;
  readonly #durations: HoldDurations;
  readonly #holds: HoldMonitor;
  readonly #upkeep: Upkeep;
  readonly #log: (event: LedgerEvent) => void;
  readonly sharedWrite: SharedConnection["sharedWrite"];
  /** Reserves that wait for their reply. */
  readonly #pending = new Map<ReservationId, Promise<ReserveReply>>();

  /** Joins the store as a node, resolves what an earlier process of this node left behind, and starts the upkeep. */
  static async open(store: LedgerStore, nodeId: string, options: BatchedLedgerOptions): Promise<BatchedLedger> {
    const node = await store.join(nodeId);
    const ledger = new BatchedLedger(store, node, options);
    if (store.empty !== undefined) {
      options.log({ kind: "store_empty", expected: store.empty.expected || options.expectExisting?.() === true });
    }
    await ledger.#upkeep.refreshDay();
    ledger.#upkeep.start();
    return ledger;
  }

  private constructor(store: LedgerStore, node: NodeIdentity, options: BatchedLedgerOptions) {
    const { clock, timers, random, log, retentionMs, coalesce } = options;
    this.#store = store;
    this.#timers = timers;
    this.#log = log;
    this.#availability = new StoreAvailability(clock, random, log);
    this.#durations = new HoldDurations(clock);
    this.#holds = new HoldMonitor(() => store.openHolds(), clock);
    this.#writer = new BatchWriter({
      store,
      node,
      clock,
      timers,
      log,
      coalesce,
      availability: this.#availability,
      onWritten: (reply) => this.#written(reply),
      // What was acknowledged before was a repeat here: the first call's hold is in use.
      mayCancel: (id) => !this.#durations.wasAcknowledged(id),
    });
    const { sharedWrite } = store;
    if (sharedWrite !== undefined) {
      this.sharedWrite = (writes) =>
        sharedWrite(writes).catch((error: unknown) => {
          this.#sharedWriteFailed(asStoreFailure(error));
          throw error;
        });
    }
    const batchInFlight = () => this.#writer.batchInFlight;
    this.#reader = new SpendReader(store, this.#cache, batchInFlight);
    this.#upkeep = new Upkeep({
      store,
      node,
      clock,
      timers,
      random,
      log,
      retentionMs,
      batchInFlight,
      cache: this.#cache,
      write: (operations) => new Promise((resolve) => this.#writer.enqueue(operations, "soon", () => resolve())),
      refreshHolds: () => this.#holds.refresh(),
      onHeartbeat: () => {
        // While operations wait, only their replies say whether the store takes writes.
        if (this.#writer.isIdle) this.#availability.succeeded();
      },
      onFailure: (error) => {
        if (this.#writer.mode !== "closed") this.#writer.storeFailed(asStoreFailure(error));
      },
    });
  }

  reserve(reservation: Reservation, closing: readonly Resolution[] = noResolutions): Promise<ReserveReply> {
    const pending = this.#pending.get(reservation.id);
    if (pending !== undefined) {
      // The same call again while the first one waits: one reservation, one reply.
      if (closing.length > 0) void this.resolve(closing);
      return pending;
    }
    const refusal = this.#queueRefusal();
    if (refusal !== undefined) {
      if (closing.length > 0) void this.resolve(closing);
      return Promise.resolve({ kind: "unavailable", reason: refusal });
    }
    const reserve: Operation = { kind: "reserve", reservation };
    const operations = closing.length === 0 ? [reserve] : [...closing.map(toOperation), reserve];
    return this.#enqueueReserve(reservation.id, operations);
  }

  #enqueueReserve(id: ReservationId, operations: readonly Operation[]): Promise<ReserveReply> {
    const { promise, resolve } = Promise.withResolvers<ReserveReply>();
    this.#pending.set(id, promise);
    this.#writer.enqueue(operations, "deadline", (reply) => {
      this.#pending.delete(id);
      resolve(this.#reserveReply(id, reply));
    });
    return promise;
  }

  async resolve(resolutions: readonly Resolution[]): Promise<void> {
    const waits = this.#resolveItems(resolutions).map(
      (operations) => new Promise<void>((resolve) => this.#writer.enqueue(operations, "soon", () => resolve())),
    );
    await Promise.all(waits);
  }

  resolveInBackground(resolutions: readonly Resolution[]): void {
    for (const operations of this.#resolveItems(resolutions)) this.#writer.enqueue(operations, "background", ignored);
  }

  peek(goal: GoalId): Spend | undefined {
    return this.#cache.spend(goal);
  }

  peekDay(): DaySpend | undefined {
    return this.#cache.daySpend();
  }

  read(goal: GoalId): Promise<Spend | undefined> {
    if (!this.#isRunning()) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const cancel = this.#timers.after(answerLimitMs, () => resolve(undefined));
      const begin = () =>
        this.#reader.read(goal, (spend) => {
          cancel();
          resolve(spend);
        });
      // Resolutions handed in before are written first, or a caller is refused for money that is free again.
      const written = this.#writer.resolutionsWritten();
      if (written === undefined) begin();
      else void written.then(begin);
    });
  }

  async heldMoney(goal: GoalId): Promise<HeldMoney | undefined> {
    const { day } = this.#cache;
    if (!this.#isRunning() || day === undefined) return undefined;
    let cancel = () => {};
    const late = new Promise<undefined>((resolve) => {
      cancel = this.#timers.after(answerLimitMs, () => resolve(undefined));
    });
    const holds = await Promise.race([this.#holds.refresh(), late]);
    cancel();
    if (holds === undefined) return undefined;
    const goalAccount = goalAccountOf(goal, day);
    const dayAccount = dayAccountOf(day);
    const unresolved = holds.rows.flatMap((row) => {
      const own = { goal: row.goalAccount === goalAccount, day: row.dayAccount === dayAccount };
      return own.goal || own.day
        ? { ...own, amount: nanoUsd(row.amount), endsInMs: row.endsInMs, asked: row.asked }
        : [];
    });
    return { unresolved, typicalHoldMs: this.#durations.retryAfterMs() };
  }

  takeLookups(limit: number): Promise<readonly BillingLookup[]> {
    if (this.#writer.mode !== "open" || this.#availability.unavailable) return Promise.resolve([]);
    return this.#store.takeLookups(limit).catch(() => []); // They stay in the store.
  }

  async dropLookups(ids: readonly ReservationId[]): Promise<void> {
    if (ids.length === 0 || this.#writer.mode !== "open") return;
    await this.#store.dropLookups(ids).catch(() => {}); // They are handed out again, a few times at most.
  }

  oldestMs(): number {
    return this.#writer.oldestMs();
  }

  status(): LedgerStatus {
    const { failure, queued } = this.#writer;
    const oldestMs = this.oldestMs();
    const holds = this.#holds.latest;
    const status: { -readonly [name in keyof LedgerStatus]: LedgerStatus[name] } = {
      kind: this.#store.kind,
      ok: this.#isRunning() && !this.#availability.unavailable && oldestMs <= answerLimitMs,
      queued,
      oldestMs,
    };
    if (failure !== undefined) status.failed = failure.kind;
    if (holds !== undefined) status.holds = { running: holds.running, unresolved: holds.unresolved };
    return status;
  }

  async close(withinMs: number): Promise<void> {
    if (this.#upkeep.stopped) return;
    this.#upkeep.stop();
    await this.#writer.close(withinMs);
    await this.#store.close();
  }

  /** Resolves what is due: passed deadlines, and holds of dead nodes. Runs by itself every few seconds. */
  sweep(): Promise<void> {
    return this.#upkeep.sweep();
  }

  /** Removes what has been closed for longer than the retention. Runs by itself every ten minutes. */
  prune(): Promise<void> {
    return this.#upkeep.prune();
  }

  /** The operations of each item of the queue; none where the resolutions cannot be kept. */
  #resolveItems(resolutions: readonly Resolution[]): Operation[][] {
    const closed = this.#writer.mode === "closed";
    if (closed || this.#writer.waitingResolutions + resolutions.length > maxWaitingResolutions) {
      const message = closed ? "the ledger is closed" : "too many wait for the budget store";
      if (resolutions.length > 0) this.#log({ kind: "resolutions_dropped", count: resolutions.length, message });
      return [];
    }
    const [first] = resolutions;
    // As nearly always.
    if (first !== undefined && resolutions.length === 1) return [[toOperation(first)]];
    const operations = resolutions.map(toOperation);
    const items: Operation[][] = [];
    for (let from = 0; from < operations.length; from += maxPerItem)
      items.push(operations.slice(from, from + maxPerItem));
    return items;
  }

  #written({ day, accounts, notices }: BatchReply): void {
    this.#cache.store(day, accounts);
    // A batch that finds nothing to cancel writes nothing: a full disk takes it too.
    if (accounts.length > 0) this.#availability.succeeded();
    for (const notice of notices) {
      if (notice.kind === "resolved") {
        this.#durations.resolved(notice.id);
        if (notice.orphanOf !== undefined) this.#upkeep.noteTakeover(notice.orphanOf, notice);
      }
      this.#log(notice);
    }
  }

  #reserveReply(id: ReservationId, reply: OperationReply | undefined): ReserveReply {
    switch (reply?.kind) {
      case "held":
        this.#durations.acknowledge(id);
        return reply;
      case "refused":
        return reply.retryAfterMs === undefined ? reply : { ...reply, retryAfterMs: this.#durations.retryAfterMs() };
      case "unavailable":
        // It may be in the ledger all the same: from a try whose reply was lost, taken over by another node since.
        if (!this.#durations.wasAcknowledged(id)) this.#writer.cancelReserve(id);
        return reply;
      default:
        return {
          kind: "unavailable",
          reason: this.#writer.failure?.reason ?? "the budget store did not answer in time",
        };
    }
  }

  /** A damaged file is damaged for the ledger too: what another part has found out need not wait for a batch that meets the place. */
  #sharedWriteFailed(failure: StoreFailure): void {
    if (failure.isFinal && this.#writer.mode !== "closed") this.#writer.storeFailed(failure);
  }

  /** Why a reserve is answered at once; undefined when it may be queued. */
  #queueRefusal(): string | undefined {
    const { mode, failure, queuedReserves } = this.#writer;
    if (failure !== undefined) return failure.reason;
    if (mode !== "open") return "the gateway is shutting down";
    if (queuedReserves >= maxQueuedReserves) return "too many requests wait for the budget store";
    return undefined;
  }

  /** Whether the store may be asked: the ledger is neither closed nor failed. */
  #isRunning(): boolean {
    return this.#writer.mode === "open" || this.#writer.mode === "closing";
  }
}

const noResolutions: readonly Resolution[] = [];

function toOperation(resolution: Resolution): Operation {
  return { kind: "resolve", resolution };
}

/** The reply to what nobody waits for. */
const ignored = () => {};
