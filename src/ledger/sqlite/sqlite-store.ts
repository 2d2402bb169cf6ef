import { inMemoryPath } from "#db/database-url.ts";
import type { WriteTransaction } from "#db/store-database.ts";
import type { BillingLookup, ReservationId } from "#ledger/ledger.ts";
import type { OpenHolds } from "#ledger/open-holds.ts";
import type { BatchReply, LedgerBatch } from "#ledger/rules/operations.ts";
import type { NodeIdentity } from "#ledger/rules/rows.ts";
import { type DueReservation, type JoinedNode, type LedgerStore, StoreFailure } from "#ledger/store.ts";
import { ThreadCalls } from "#platform/thread-calls.ts";
import type { Clock } from "#platform/time.ts";
import type { SqliteEngine } from "./sqlite-engine.ts";

/** The methods of the engine that the thread is asked for. */
type Method = Exclude<keyof SqliteEngine, symbol>;

export type EngineCall = readonly [method: Method | "open", ...args: unknown[]];

/** The ledger in an SQLite file, reached through the worker thread that owns the connection. The process clock counts. */
export class SqliteStore implements LedgerStore {
  readonly kind = "sqlite";
  /** Absent for a database in memory, which nobody else could read. */
  readonly sharedWrite: WriteTransaction | undefined;
  readonly #clock: Clock;
  readonly #thread: ThreadCalls<EngineCall>;

  /** `path` as SQLite takes it; `:memory:` for a ledger that ends with the process. Rejects when it cannot be opened. */
  static async open(path: string, clock: Clock): Promise<SqliteStore> {
    const store = new SqliteStore(path, clock);
    try {
      await store.#thread.call(["open", path]);
      return store;
    } catch (error) {
      store.#thread.terminate("the store cannot be opened");
      throw new Error(`cannot open the budget store ${path}: ${error instanceof Error ? error.message : error}`, {
        cause: error,
      });
    }
  }

  private constructor(path: string, clock: Clock) {
    this.#clock = clock;
    if (path !== inMemoryPath) this.sharedWrite = (statements) => this.#thread.call(["sharedWrite", statements], true);
    const worker = new Worker(new URL("./sqlite-worker.ts", import.meta.url), { name: "ledger" });
    this.#thread = new ThreadCalls(worker, {
      keepsAlive: true,
      // The thread's own death is fatal to the ledger; its failures travel with their kind.
      errorOf: (message, kind) =>
        kind === undefined
          ? new StoreFailure("fatal", `the ledger's thread ended: ${message}`)
          : new StoreFailure(kind as StoreFailure["kind"], message),
    });
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
    // A thread that hangs on a dead disk must not keep the process.
    const patience = new Promise((resolve) => setTimeout(resolve, 1_000).unref());
    await Promise.race([this.#call("close").catch(() => {}), patience]);
    this.#thread.terminate("the ledger is closed");
  }

  #call<M extends Method>(
    method: M,
    ...args: Parameters<SqliteEngine[M]>
  ): Promise<Awaited<ReturnType<SqliteEngine[M]>>> {
    return this.#thread.call([method, ...args]);
  }
}
