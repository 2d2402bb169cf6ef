import { inMemoryPath } from "#db/database-url.ts";
import { pushWrites, type SqlValue, type WriteTransaction } from "#db/sql-writes.ts";
import type { BillingLookup, ReservationId } from "#ledger/ledger.ts";
import type { OpenHolds } from "#ledger/open-holds.ts";
import type { BatchReply, LedgerBatch } from "#ledger/rules/operations.ts";
import type { AccountId, AccountRow, NodeIdentity } from "#ledger/rules/rows.ts";
import { type DueReservation, type LedgerStore, StoreFailure } from "#ledger/store.ts";
import type { Clock, UtcDay } from "#platform/time.ts";
import { decodeReply, encodeBatch } from "./commit-messages.ts";

/**
 * Between the threads both travel as JSON text: cloning objects costs several times as much. Batches have a form of their own
 * (`commit-messages.ts`), as has the reply to one. Shared writes, which are long
 * texts, travel as one array of plain values instead, the id first: cloning those costs a fifth of writing and reading them as JSON.
 */
export type WorkerRequest =
  | { readonly call: "open"; readonly path: string }
  | { readonly call: "join"; readonly nodeId: string; readonly nowMs: number }
  | { readonly call: "heartbeat"; readonly node: NodeIdentity; readonly nowMs: number }
  | { readonly call: "findDue"; readonly node: NodeIdentity; readonly limit: number; readonly nowMs: number }
  | { readonly call: "day"; readonly nowMs: number }
  | { readonly call: "read"; readonly day: UtcDay; readonly accounts: readonly AccountId[]; readonly nowMs: number }
  | { readonly call: "openHolds"; readonly nowMs: number }
  | { readonly call: "takeLookups"; readonly limit: number; readonly nowMs: number }
  | { readonly call: "dropLookups"; readonly ids: readonly ReservationId[] }
  | { readonly call: "prune"; readonly retentionMs: number; readonly limit: number; readonly nowMs: number }
  | { readonly call: "close" };

export interface JoinReply {
  readonly node: NodeIdentity;
  readonly empty?: LedgerStore["empty"];
}

export type WorkerReply =
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  | { readonly id: number; readonly ok: false; readonly kind: StoreFailure["kind"]; readonly message: string };

/**
 * The ledger in an SQLite file, reached through the worker thread that owns the connection. The process clock counts. It does not use
 * `ThreadCalls`: a failed call has to reject with the kind of its `StoreFailure`, and the death of the thread is fatal to the ledger.
 */
export class SqliteStore implements LedgerStore {
  readonly kind = "sqlite";
  empty: { readonly expected: boolean } | undefined;
  /** Absent for a database in memory, which nobody else could read. */
  readonly sharedWrite: WriteTransaction | undefined;
  readonly #clock: Clock;
  readonly #worker: Worker;
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (failure: StoreFailure) => void }>();
  #nextId = 0;
  #dead: string | undefined;

  /** `path` as SQLite takes it; `:memory:` for a ledger that ends with the process. Rejects when it cannot be opened. */
  static async open(path: string, clock: Clock): Promise<SqliteStore> {
    const store = new SqliteStore(path, clock);
    try {
      await store.#call({ call: "open", path });
      return store;
    } catch (error) {
      store.#worker.terminate();
      throw new Error(`cannot open the budget store ${path}: ${error instanceof Error ? error.message : error}`, {
        cause: error,
      });
    }
  }

  private constructor(path: string, clock: Clock) {
    this.#clock = clock;
    if (path !== inMemoryPath) {
      this.sharedWrite = (writes) =>
        this.#send((id) => {
          const message: SqlValue[] = [id];
          pushWrites(message, writes);
          return message;
        });
    }
    this.#worker = new Worker(new URL("./sqlite-worker.ts", import.meta.url), { name: "ledger" });
    // Only this program's own worker writes here.
    this.#worker.onmessage = ({ data }: MessageEvent<string>) => {
      const reply = JSON.parse(data) as WorkerReply | readonly [number, ...unknown[]];
      if (isWrittenBatch(reply)) this.#answered({ id: reply[0], ok: true, value: reply });
      else this.#answered(reply);
    };
    this.#worker.onerror = (event) => this.#died(event.message);
    this.#worker.addEventListener("close", () => this.#died("the thread ended"));
  }

  async join(nodeId: string): Promise<NodeIdentity> {
    const { node, empty } = await this.#call<JoinReply>({ call: "join", nodeId, nowMs: this.#clock.now() });
    this.empty = empty;
    return node;
  }

  async commit(batch: LedgerBatch): Promise<BatchReply> {
    const nowMs = this.#clock.now();
    return decodeReply(await this.#send<readonly unknown[]>((id) => encodeBatch(id, batch, nowMs)), batch);
  }

  heartbeat(node: NodeIdentity): Promise<void> {
    return this.#call({ call: "heartbeat", node, nowMs: this.#clock.now() });
  }

  findDue(node: NodeIdentity, limit: number): Promise<readonly DueReservation[]> {
    return this.#call({ call: "findDue", node, limit, nowMs: this.#clock.now() });
  }

  async read(accountsOf: (day: UtcDay) => readonly AccountId[]): Promise<{ day: UtcDay; accounts: AccountRow[] }> {
    const nowMs = this.#clock.now();
    const day = await this.#call<UtcDay>({ call: "day", nowMs });
    const accounts = accountsOf(day);
    if (accounts.length === 0) return { day, accounts: [] };
    return this.#call({ call: "read", day, accounts, nowMs });
  }

  takeLookups(limit: number): Promise<readonly BillingLookup[]> {
    return this.#call({ call: "takeLookups", limit, nowMs: this.#clock.now() });
  }

  dropLookups(ids: readonly ReservationId[]): Promise<void> {
    return this.#call({ call: "dropLookups", ids });
  }

  openHolds(): Promise<OpenHolds> {
    return this.#call({ call: "openHolds", nowMs: this.#clock.now() });
  }

  prune(retentionMs: number, limit: number): Promise<number> {
    return this.#call({ call: "prune", retentionMs, limit, nowMs: this.#clock.now() });
  }

  async close(): Promise<void> {
    if (this.#dead === undefined) {
      // A thread that hangs on a dead disk must not keep the process.
      const patience = new Promise((resolve) => setTimeout(resolve, 1_000).unref());
      await Promise.race([this.#call({ call: "close" }).catch(() => {}), patience]);
    }
    this.#dead = "the ledger is closed";
    this.#worker.terminate();
  }

  #call<T>(request: WorkerRequest): Promise<T> {
    return this.#send((id) => JSON.stringify({ id, request }));
  }

  #send<T>(messageOf: (id: number) => string | readonly SqlValue[]): Promise<T> {
    if (this.#dead !== undefined) return Promise.reject(new StoreFailure("fatal", this.#dead));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      // The worker answers each call with what its name promises; both sides are compiled from the same types.
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.#worker.postMessage(messageOf(id));
    });
  }

  #answered(reply: WorkerReply): void {
    const waiter = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (reply.ok) waiter?.resolve(reply.value);
    else waiter?.reject(new StoreFailure(reply.kind, reply.message));
  }

  #died(message: string): void {
    if (this.#dead !== undefined) return;
    this.#dead = `the ledger's thread died: ${message}`;
    for (const { reject } of this.#waiting.values()) reject(new StoreFailure("fatal", this.#dead));
    this.#waiting.clear();
  }
}

/** The reply to a batch is an array, whose first value is the id of the call; every other reply is an object. */
function isWrittenBatch(
  reply: WorkerReply | readonly [number, ...unknown[]],
): reply is readonly [number, ...unknown[]] {
  return Array.isArray(reply);
}
