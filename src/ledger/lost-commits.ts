import type { Clock, Timers } from "#platform/time.ts";
import type { LostCommits } from "./ledger.ts";
import type { BatchReply, LedgerBatch, Operation } from "./rules/operations.ts";
import type { NodeIdentity } from "./rules/rows.ts";
import { type LedgerStore, type Rejoined, StoreFailure } from "./store.ts";

/**
 * A server that takes over may lack commits that were acknowledged to this process (an asynchronous standby, a restored
 * disk). Each batch looks at its node's number of batches and at the server's timeline. Where one is not as it was,
 * nothing is admitted until this node has written again what it still knows, and every other living node has done so
 * too: until then nobody knows what is spent.
 */

/** How long acknowledged operations are kept at least, and how many at most; some 30 MB. */
const keptMs = 60_000;
const maxKept = 100_000;
/** In one batch when they are written again. */
const chunkSize = 256;
/** How long other nodes are waited for, and how often they are looked at. A living one notices within a heartbeat. */
const waitMs = 10_000;
const lookMs = 100;

/** What a store says of its server, and of the row of this node; without the latter where there is none. */
export interface SeenPosition {
  readonly timeline: string;
  readonly epoch?: number;
  readonly lastBatch?: number;
}

/** What a process knows of its store's past. */
export class StorePosition {
  /** Number of the last batch that is durable. */
  acknowledged = 0;
  /** The server's; undefined until the node has joined. */
  timeline: string | undefined;
  #found = nothingFound;

  /** Throws where the store lacks commits, or another server has taken over. `acknowledged`: as it was when the store was asked. */
  check({ epoch }: NodeIdentity, seen: SeenPosition, acknowledged = this.acknowledged): void {
    // A later process of this name has taken its place.
    if (this.timeline === undefined || (seen.epoch ?? 0) > epoch) return;
    const lacks = seen.epoch !== epoch || (seen.lastBatch ?? 0) < acknowledged;
    if (!lacks && seen.timeline === this.timeline) return;
    throw new StoreFailure(
      "behind",
      `another server has taken over${lacks ? ", and it lacks acknowledged commits" : ""}`,
    );
  }

  /** Goes on with the server as it is. What it lacks adds up until the recovery has ended. */
  accept({ epoch }: NodeIdentity, seen: SeenPosition): Rejoined {
    const stored = seen.epoch === epoch ? (seen.lastBatch ?? 0) : 0;
    const batches = Math.max(0, this.acknowledged - stored);
    const { earlier } = this.#found;
    const takenOver = this.#found.takenOver || batches > 0 || seen.timeline !== this.timeline || earlier.length > 0;
    this.#found = { batches: this.#found.batches + batches, takenOver, earlier };
    this.acknowledged = stored;
    this.timeline = seen.timeline;
    return this.#found;
  }

  /** `earlier`: an earlier process of this name whose last writes the server may lack. */
  begin(timeline: string, earlier: readonly string[] = []): void {
    this.timeline = timeline;
    this.#found = { ...nothingFound, earlier };
  }

  recovered(): void {
    this.#found = nothingFound;
  }
}

const nothingFound: Rejoined = { batches: 0, takenOver: false, earlier: [] };

/** What was acknowledged in the last minute, as operations that write it again and change nothing where it is still there. */
export class AcknowledgedOperations {
  readonly #clock: Clock;
  /** What came after `#sinceMs`, and in the minute before. */
  #newer: Operation[] = [];
  #older: readonly Operation[] = [];
  #sinceMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add({ operations }: LedgerBatch, { replies, nowMs, day }: BatchReply): void {
    const clockMs = this.#clock.monotonic();
    if (clockMs - this.#sinceMs > keptMs || this.#newer.length > maxKept / 2) {
      this.#older = clockMs - this.#sinceMs > 2 * keptMs ? [] : this.#newer;
      this.#newer = [];
      this.#sinceMs = clockMs;
    }
    operations.forEach((operation, index) => {
      if (operation.kind === "read") return;
      if (operation.kind !== "reserve") this.#newer.push(operation);
      else if (replies[index]?.kind === "held") this.#newer.push({ ...operation, admitted: { nowMs, day } });
    });
  }

  *chunks(): Generator<readonly Operation[]> {
    const all = [...this.#older, ...this.#newer];
    for (let at = 0; at < all.length; at += chunkSize) yield all.slice(at, at + chunkSize);
  }
}

/**
 * Writes again what this node knows, and waits until every other living node has. Undefined where the server is the
 * same as before. Rejects as a store does; then it is to be run again.
 */
export async function recover(
  store: LedgerStore,
  node: NodeIdentity,
  acknowledged: AcknowledgedOperations,
  { clock, timers }: { readonly clock: Clock; readonly timers: Timers },
): Promise<LostCommits | undefined> {
  const { failOver } = store;
  if (failOver === undefined) return undefined;
  const { batches, takenOver, earlier } = await failOver.rejoin(node);
  let restored = 0;
  if (takenOver) {
    for (const operations of acknowledged.chunks()) restored += (await store.commit({ node, operations })).written;
  }
  const untilMs = clock.monotonic() + waitMs;
  for (;;) {
    const others = await failOver.notRecovered(node);
    if (others.length > 0 && clock.monotonic() < untilMs) {
      await new Promise<void>((resolve) => timers.after(lookMs, resolve));
      continue;
    }
    if (!takenOver && others.length === 0) return undefined;
    const lost = { batches, restored, silent: [...earlier, ...others] };
    await failOver.finish(node, lost);
    return lost;
  }
}
