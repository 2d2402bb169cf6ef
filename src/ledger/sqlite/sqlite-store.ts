import { inMemoryPath } from "#db/database-url.ts";
import type { WriteTransaction } from "#db/store-database.ts";
import type { BillingLookup, ReservationId } from "#ledger/ledger.ts";
import type { OpenHolds } from "#ledger/open-holds.ts";
import type { BatchReply, LedgerBatch } from "#ledger/rules/operations.ts";
import type { NodeIdentity } from "#ledger/rules/rows.ts";
import { type DueReservation, type JoinedNode, type LedgerStore, StoreFailure } from "#ledger/store.ts";
import type { Clock } from "#platform/time.ts";
import type { SqliteEngine } from "./sqlite-engine.ts";

/** The methods of the engine that the thread is asked for. */
type Method = Exclude<keyof SqliteEngine, symbol>;

/**
 * Travels as JSON text, which costs a third of cloning the objects. Only shared writes, which are long texts in one flat array, are
 * cloned: that costs a fifth of their JSON.
 */
export interface WorkerRequest {
  readonly id: number;
  readonly method: Method | "open";
  readonly args: readonly unknown[];
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
      await store.#send("open", [path]);
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
      this.sharedWrite = (statements) => this.#call("sharedWrite", statements);
    }
    this.#worker = new Worker(new URL("./sqlite-worker.ts", import.meta.url), { name: "ledger" });
    // Only this program's own worker writes here.
    this.#worker.onmessage = ({ data }: MessageEvent<string>) => this.#answered(JSON.parse(data) as WorkerReply);
    this.#worker.onerror = (event) => this.#died(event.message);
    this.#worker.addEventListener("close", () => this.#died("the thread ended"));
  }

  join(nodeId: string): Promise<JoinedNode> {
    return this.#call("join", nodeId, this.#clock.now());
  }

  commit(batch: LedgerBatch): Promise<BatchReply> {
    return this.#call("commit", batch, this.#clock.now());
  }

  heartbeat(node: NodeIdentity): Promise<void> {
    return this.#call("heartbeat", node, this.#clock.now());
  }

  findDue(node: NodeIdentity, limit: number): Promise<readonly DueReservation[]> {
    return this.#call("findDue", node, limit, this.#clock.now());
  }

  takeLookups(limit: number): Promise<readonly BillingLookup[]> {
    return this.#call("takeLookups", limit, this.#clock.now());
  }

  dropLookups(ids: readonly ReservationId[]): Promise<void> {
    return this.#call("dropLookups", ids);
  }

  openHolds(): Promise<OpenHolds> {
    return this.#call("openHolds", this.#clock.now());
  }

  prune(retentionMs: number, limit: number): Promise<number> {
    return this.#call("prune", retentionMs, limit, this.#clock.now());
  }

  async close(): Promise<void> {
    if (this.#dead === undefined) {
      // A thread that hangs on a dead disk must not keep the process.
      const patience = new Promise((resolve) => setTimeout(resolve, 1_000).unref());
      await Promise.race([this.#call("close").catch(() => {}), patience]);
    }
    this.#dead = "the ledger is closed";
    this.#worker.terminate();
  }

  #call<M extends Method>(
    method: M,
    ...args: Parameters<SqliteEngine[M]>
  ): Promise<Awaited<ReturnType<SqliteEngine[M]>>> {
    // The worker answers each call with what its method returns; both sides are compiled from the same types.
    return this.#send(method, args) as Promise<Awaited<ReturnType<SqliteEngine[M]>>>;
  }

  #send(method: Method | "open", args: readonly unknown[]): Promise<unknown> {
    if (this.#dead !== undefined) return Promise.reject(new StoreFailure("fatal", this.#dead));
    const request: WorkerRequest = { id: this.#nextId++, method, args };
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.id, { resolve, reject });
      this.#worker.postMessage(JSON.stringify(request));
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
