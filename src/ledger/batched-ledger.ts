import { nanoUsd } from "#domain/money/money.ts";
import { LruMap } from "#platform/lru-map.ts";
import type { UtcDay } from "#platform/time.ts";
import { answerLimitMs, BatchQueue } from "./batch-queue.ts";
import type {
  AccountSpend,
  BillingLookup,
  BillingLookups,
  DaySpend,
  GoalId,
  HeldMoney,
  KeyLabel,
  Ledger,
  LedgerStatus,
  LostCommits,
  Reservation,
  ReservationId,
  ReserveReply,
  Resolution,
  SharedConnection,
  Spend,
} from "./ledger.ts";
import { LedgerJobs, OpenHoldsCache } from "./ledger-jobs.ts";
import { AcknowledgedOperations, recover } from "./lost-commits.ts";
import { accountSpendOf, dayAccountOf, goalAccountOf, keyAccountOf, spendOf } from "./rules/accounts.ts";
import type { BatchReply, OperationReply } from "./rules/operations.ts";
import type { AccountId, AccountRow, NodeIdentity } from "./rules/rows.ts";
import { asStoreFailure, type LedgerContext, type LedgerStore } from "./store.ts";
import { StoreAvailability } from "./store-availability.ts";

export interface BatchedLedgerOptions extends LedgerContext {
  /** How long closed reservations and their entries are kept, in milliseconds. */
  readonly retentionMs: () => number;
  /** Whether the store should have been used before (`budget.expect_ledger`); false when absent. */
  readonly expectExisting?: () => boolean;
  /** Runs a callback at the end of this tick of the event loop, so that a batch has all its operations; a microtask when absent. */
  readonly defer?: (begin: () => void) => unknown;
}

const maxWaitingCallers = 4_096;
/** Resolutions that wait for the store in memory, some 20 MB. */
const maxQueued = 100_000;
const maxCachedAccounts = 10_000;
/** Pauses before money is asked for again that is held: a call may have ended just now, on another node. */
const waitsForHeldMs = [20, 80];
/** How long a hold lasts, as long as none has ended. */
const initialTypicalMs = 5_000;

/** A ledger over any store. Every operation of this process goes through one queue. */
export class BatchedLedger implements Ledger, BillingLookups, SharedConnection {
  readonly #store: LedgerStore;
  readonly #context: LedgerContext;
  readonly #acknowledged: AcknowledgedOperations;
  readonly #availability: StoreAvailability;
  readonly #queue: BatchQueue;
  readonly #holds: OpenHoldsCache;
  /** They run by themselves. */
  readonly jobs: LedgerJobs;
  readonly sharedWrite: SharedConnection["sharedWrite"];
  /** The accounts as a reply of the store has last shown them, and the newest day of the store's clock. */
  readonly #accounts = new LruMap<AccountId, AccountRow>(maxCachedAccounts);
  #day: UtcDay | undefined;
  #typicalHoldMs = initialTypicalMs;
  #lostCommits: LostCommits | undefined;

  /** Joins the store as a node, resolves what an earlier process of this node left behind, and starts the jobs. */
  static async open(store: LedgerStore, nodeId: string, options: BatchedLedgerOptions): Promise<BatchedLedger> {
    const { empty, asynchronousStandbys: standbys = 0, ...node } = await store.join(nodeId);
    const ledger = new BatchedLedger(store, node, options);
    if (empty !== undefined) {
      options.log({ kind: "store_empty", expected: empty.expected || options.expectExisting?.() === true });
    }
    if (standbys > 0) options.log({ kind: "standby_asynchronous", standbys });
    // Other nodes may have to write again what a server lacks that has just taken over.
    if (store.failOver !== undefined) ledger.#queue.recover();
    await ledger.jobs.refreshDay();
    ledger.jobs.start();
    return ledger;
  }

  private constructor(store: LedgerStore, node: NodeIdentity, options: BatchedLedgerOptions) {
    const { clock } = options;
    this.#store = store;
    this.#context = options;
    this.#acknowledged = new AcknowledgedOperations(clock);
    this.#availability = new StoreAvailability(options);
    this.#holds = new OpenHoldsCache(() => store.openHolds(), clock);
    this.#queue = new BatchQueue({
      ...options,
      store,
      node,
      availability: this.#availability,
      recover: () => this.#recover(node),
      onWritten: (reply, batch) => {
        if (store.failOver !== undefined) this.#acknowledged.add(batch, reply);
        this.#written(reply);
      },
    });
    const { sharedWrite } = store;
    if (sharedWrite !== undefined) {
      this.sharedWrite = (writes) =>
        sharedWrite(writes).catch((error: unknown) => {
          // A damaged file is damaged for the ledger too: it need not wait for a batch that meets the place.
          const failure = asStoreFailure(error);
          if (failure.isFinal) this.#queue.storeFailed(failure);
          throw error;
        });
    }
    this.jobs = new LedgerJobs({
      ...options,
      store,
      node,
      queue: this.#queue,
      availability: this.#availability,
      holds: this.#holds,
    });
  }

  reserve(reservation: Reservation, closing: readonly Resolution[] = noResolutions): Promise<ReserveReply> {
    const isForHeld = (reply: ReserveReply) => reply.kind === "refused" && reply.retryAfterMs !== undefined;
    return this.#untilReleased(
      (sinceMs, isFirst) => this.#reserveOnce(reservation, isFirst ? closing : noResolutions, sinceMs),
      isForHeld,
    );
  }

  /** Asks again for a moment while only held money is in the way: a call may have ended just now, on another node. */
  async #untilReleased<T>(ask: (sinceMs: number, isFirst: boolean) => Promise<T>, waits: (answer: T) => boolean) {
    const sinceMs = this.#context.clock.monotonic();
    let answer = await ask(sinceMs, true);
    for (const pauseMs of waitsForHeldMs) {
      if (!waits(answer) || this.#context.clock.monotonic() - sinceMs > answerLimitMs / 2) break;
      await new Promise<void>((resolve) => this.#context.timers.after(pauseMs, resolve));
      answer = await ask(sinceMs, false);
    }
    return answer;
  }

  #reserveOnce(reservation: Reservation, closing: readonly Resolution[], sinceMs: number): Promise<ReserveReply> {
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      if (closing.length > 0) void this.resolve(closing);
      return Promise.resolve({ kind: "unavailable", reason: refusal });
    }
    const reply = this.#queue.ask([...closing, { kind: "reserve", reservation }], sinceMs);
    return reply.then((answer) => this.#reserveReply(answer));
  }

  async resolve(resolutions: readonly Resolution[]): Promise<void> {
    if (!this.#mayQueue(resolutions)) return;
    await Promise.all(resolutions.map((resolution) => this.#queue.write([resolution])));
  }

  resolveInBackground(resolutions: readonly Resolution[]): void {
    if (!this.#mayQueue(resolutions)) return;
    for (const resolution of resolutions) this.#queue.writeInBackground([resolution]);
  }

  peek(goal: GoalId, key?: KeyLabel): Spend | undefined {
    const day = this.#day;
    if (day === undefined) return undefined;
    const goalRow = this.#accounts.get(goalAccountOf(goal, day));
    const dayRow = this.#accounts.get(dayAccountOf(day));
    const keyRow = key === undefined ? undefined : this.#accounts.get(keyAccountOf(key, day));
    if (goalRow === undefined || dayRow === undefined || (key !== undefined && keyRow === undefined)) return undefined;
    return spendOf(day, goalRow, dayRow, keyRow);
  }

  peekDay(): DaySpend | undefined {
    const row = this.#day === undefined ? undefined : this.#accounts.get(dayAccountOf(this.#day));
    if (row === undefined) return undefined;
    const hardOverride = row.ownHard === null ? {} : { hardOverride: nanoUsd(row.ownHard) };
    return { ...accountSpendOf(row), unproven: nanoUsd(row.unproven), ...hardOverride };
  }

  read(goal: GoalId, key?: KeyLabel, suffices: (spend: Spend) => boolean = () => true): Promise<Spend | undefined> {
    const isForHeld = (spend: Spend | undefined) =>
      spend !== undefined && !suffices(spend) && suffices(withoutHolds(spend));
    return this.#untilReleased((sinceMs) => this.#readOnce(goal, key, sinceMs), isForHeld);
  }

  /** Goes through the queue: resolutions handed in before are written first, or a caller is refused for money that is free again. */
  async #readOnce(goal: GoalId, key: KeyLabel | undefined, sinceMs: number): Promise<Spend | undefined> {
    if (this.#refusal() !== undefined) return undefined;
    const reply = await this.#queue.ask([{ kind: "read", goal, key }], sinceMs);
    return reply?.kind === "spend" ? reply.spend : undefined;
  }

  async heldMoney(goal: GoalId, key?: KeyLabel): Promise<HeldMoney | undefined> {
    const day = this.#day;
    if (!this.#isRunning() || day === undefined) return undefined;
    const late = new Promise<undefined>((resolve) =>
      this.#context.timers.after(answerLimitMs, () => resolve(undefined)),
    );
    const holds = await Promise.race([this.#holds.refresh(), late]);
    if (holds === undefined) return undefined;
    const goalAccount = goalAccountOf(goal, day);
    const dayAccount = dayAccountOf(day);
    const keyAccount = key === undefined ? "" : keyAccountOf(key, day);
    const unresolved = holds.rows.flatMap(({ amount, endsInMs, asked, ...row }) => {
      const own = {
        goal: row.goalAccount === goalAccount,
        day: row.dayAccount === dayAccount,
        key: row.keyAccount === keyAccount,
      };
      return own.goal || own.day || own.key ? { ...own, amount, endsInMs, asked } : [];
    });
    return { unresolved, typicalHoldMs: this.#retryAfterMs() };
  }

  takeLookups(limit: number): Promise<readonly BillingLookup[]> {
    if (this.#queue.mode !== "open" || this.#availability.unavailable) return Promise.resolve([]);
    return this.#store.takeLookups(limit).catch(() => []); // They stay in the store.
  }

  async dropLookups(ids: readonly ReservationId[]): Promise<void> {
    if (ids.length === 0 || this.#queue.mode !== "open") return;
    await this.#store.dropLookups(ids).catch(() => {}); // They are handed out again, a few times at most.
  }

  oldestMs(): number {
    return this.#queue.oldestMs();
  }

  status(): LedgerStatus {
    const { failure, size } = this.#queue;
    const oldestMs = this.oldestMs();
    const holds = this.#holds.latest;
    return {
      kind: this.#store.kind,
      ok: this.#isRunning() && !this.#availability.unavailable && oldestMs <= answerLimitMs,
      queued: size,
      oldestMs,
      ...(failure === undefined ? {} : { failed: failure.kind }),
      ...(this.#lostCommits === undefined ? {} : { lostCommits: this.#lostCommits }),
      ...(holds === undefined ? {} : { holds: { running: holds.running, unresolved: holds.unresolved } }),
    };
  }

  async close(withinMs: number): Promise<void> {
    if (this.jobs.stopped) return;
    this.jobs.stop();
    await this.#queue.close(withinMs);
    await this.#store.close();
  }

  /** Whether these resolutions can be kept; logged where they cannot. */
  #mayQueue({ length: count }: readonly Resolution[]): boolean {
    const closed = this.#queue.mode === "closed";
    if (!closed && this.#queue.size + count <= maxQueued) return true;
    const message = closed ? "the ledger is closed" : "too many wait for the budget store";
    if (count > 0) this.#context.log({ kind: "resolutions_dropped", count, message });
    return false;
  }

  /** What was lost with another server, so far in this process. */
  async #recover(node: NodeIdentity): Promise<void> {
    const lost = await recover(this.#store, node, this.#acknowledged, this.#context);
    if (lost === undefined) return;
    const { batches, restored, silent } = this.#lostCommits ?? { batches: 0, restored: 0, silent: [] };
    if (lost.batches + lost.restored + lost.silent.length > 0) {
      this.#lostCommits = {
        batches: batches + lost.batches,
        restored: restored + lost.restored,
        silent: [...new Set([...silent, ...lost.silent])].slice(0, 20),
      };
    }
    this.#context.log({ kind: "failed_over", ...lost });
  }

  #written({ day, accounts, notices, heldMs, written }: BatchReply): void {
    if (this.#day === undefined || day > this.#day) this.#day = day;
    for (const row of accounts) this.#accounts.set(row.id, row);
    // A batch that changes nothing writes nothing: a full disk takes it too.
    if (written > 0) this.#availability.succeeded();
    for (const ms of heldMs) this.#typicalHoldMs += (ms - this.#typicalHoldMs) / 16;
    for (const notice of notices) {
      if (notice.kind === "resolved" && notice.orphanOf !== undefined) {
        this.jobs.noteTakeover(notice.orphanOf, notice.hold);
      }
      this.#context.log(notice);
    }
  }

  #reserveReply(reply: OperationReply | undefined): ReserveReply {
    switch (reply?.kind) {
      case "held":
      case "unavailable":
        return reply;
      case "refused":
        return reply.retryAfterMs === undefined ? reply : { ...reply, retryAfterMs: this.#retryAfterMs() };
      default: {
        const reason = this.#queue.failure?.reason ?? "the budget store did not answer in time";
        return { kind: "unavailable", reason };
      }
    }
  }

  /** About as long as a hold lasts, in milliseconds: by then some running calls have given back what they did not use. */
  #retryAfterMs(): number {
    return Math.round(Math.min(60_000, Math.max(1_000, this.#typicalHoldMs)));
  }

  /** Why a caller is answered at once; undefined when it may wait for the store. */
  #refusal(): string | undefined {
    const { mode, failure, waiting } = this.#queue;
    if (failure !== undefined) return failure.reason;
    if (mode !== "open") return "the gateway is shutting down";
    if (waiting >= maxWaitingCallers) return "too many requests wait for the budget store";
    return undefined;
  }

  /** Whether the store may be asked: the ledger is neither closed nor failed. */
  #isRunning(): boolean {
    return this.#queue.mode === "open" || this.#queue.mode === "closing";
  }
}

const noResolutions: readonly Resolution[] = [];

/** What would be spent if no call ran. */
function withoutHolds(spend: Spend): Spend {
  const { goalAccount, dayAccount, keyAccount } = spend;
  const without = ({ spent }: AccountSpend): AccountSpend => ({ spent, held: nanoUsd(0) });
  const key = keyAccount === undefined ? {} : { keyAccount: without(keyAccount) };
  return { ...spend, goalAccount: without(goalAccount), dayAccount: without(dayAccount), ...key };
}
