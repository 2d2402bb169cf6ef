import { LruMap } from "#platform/lru-map.ts";
import { LazyStore } from "#platform/store/lazy-store.ts";
import type { Clock, Timers } from "#platform/time.ts";
import type { MemoryKind, MemoryRow, RoutingMemoryStore } from "./store/routing-memory-store.ts";

/** One kind of memory, as the process has it. */
export interface SharedPart {
  readonly kind: MemoryKind;
  /** What is to be kept of a key now; undefined when the process has forgotten it. */
  read(key: string): { readonly value: string; readonly lastSeenMs: number } | undefined;
  /**
   * Takes over what the store has of a key. `missed`: the process knew nothing of it when it was asked, so that what it has
   * learned since lacks what was before. Text that this release has not written is ignored.
   */
  take(key: string, row: { readonly value: string; readonly lastSeenMs: number }, missed: boolean): void;
  limits(): { readonly remembered: number; readonly remembered_ms: number };
}

/** How a part tells what happens to its keys. Both only take notes; the work is done behind the requests. */
export interface SharedKeys {
  /** A request has asked for the key. */
  recalled(key: string, known: boolean, nowMs: number): void;
  changed(key: string): void;
}

export interface SharedMemoryOptions {
  readonly openStore: () => Promise<RoutingMemoryStore>;
  /**
   * Whether other processes write to the store too: then what the process knows is looked up again now and then. Otherwise
   * only what earlier processes have left is looked up, for as long as it counts.
   */
  readonly shared: boolean;
  readonly clock: Pick<Clock, "now">;
  readonly timers: Timers;
  /** Called when the store becomes unavailable (with its error) and when it is available again. Must not throw. */
  readonly onStore?: (state: "unavailable" | "available", problem: unknown) => void;
}

/**
 * Loads go out at once, all that one turn of the event loop has brought together. Changes wait for others: a row costs the
 * store a third when there are hundreds.
 */
const saveEveryMs = 1_000;
/** Changes that do not wait any longer. */
const saveNowFrom = 1_000;
const retryMs = 2_000;
const maxBatch = 200;
/** Keys that wait to be loaded or saved; more are not taken. */
const maxWaiting = 5_000;
/** A key whose row another process may have changed is looked up again after this long. */
const freshMs = 3_000;
const maxChecked = 20_000;
/** An earlier process may write for so long after this one has opened the store: until its last streams have ended. */
const handOverMs = 180_000;
const pruneEveryMs = 60_000;
const unavailableAfterFailures = 3;

interface Waiting {
  readonly loads: Map<string, boolean>;
  readonly saves: Set<string>;
  /** When a key was last looked up, in milliseconds since the epoch; the oldest first. */
  readonly checked: LruMap<string, number>;
  /** No row of another process was last used after this, in milliseconds since the epoch. Infinite until the store is open. */
  othersUntilMs: number;
}

/**
 * Keeps parts of the process's memory in a store: written behind the requests in batches, read when the process knows
 * nothing of a key. No request waits for it, and nothing breaks without it: a conversation or task is then begun anew.
 */
export class SharedMemory {
  readonly #options: SharedMemoryOptions;
  readonly #parts = new Map<MemoryKind, { readonly part: SharedPart; readonly waiting: Waiting }>();
  readonly #salted: LazyStore<SaltedStore>;
  #working: Promise<void> | undefined;
  #loadScheduled = false;
  #saveDue = false;
  #cancelSave: (() => void) | undefined;
  #pausedUntilMs = 0;
  #prunedMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #closed = false;

  constructor(options: SharedMemoryOptions) {
    this.#options = options;
    this.#salted = new LazyStore(() => this.#open());
  }

  get shared(): boolean {
    return this.#options.shared;
  }

  attach(part: SharedPart): SharedKeys {
    const waiting: Waiting = {
      loads: new Map(),
      saves: new Set(),
      checked: new LruMap(),
      othersUntilMs: Number.POSITIVE_INFINITY,
    };
    this.#parts.set(part.kind, { part, waiting });
    return {
      recalled: (key, known, nowMs) => {
        if (known && !(this.#options.shared && this.#isDue(key, nowMs, waiting))) return;
        // Whatever the store has was written here, and has been forgotten.
        if (nowMs - waiting.othersUntilMs > part.limits().remembered_ms) return;
        if (waiting.loads.size >= maxWaiting || waiting.loads.has(key)) return;
        waiting.loads.set(key, !known);
        this.#scheduleLoad();
      },
      changed: (key) => {
        if (waiting.saves.size >= maxWaiting) return;
        waiting.saves.add(key);
        if (waiting.saves.size < saveNowFrom || this.#options.clock.now() < this.#pausedUntilMs)
          this.#scheduleSave(saveEveryMs);
        else void this.sync();
      },
    };
  }

  /** Loads and saves what waits, now. Never rejects. */
  sync(): Promise<void> {
    this.#saveDue = true;
    return this.#work();
  }

  #work(): Promise<void> {
    this.#working ??= this.#workOff().finally(() => {
      this.#working = undefined;
    });
    return this.#working;
  }

  /** Saves what it can and closes the store. Never rejects. */
  async close(): Promise<void> {
    this.#cancelSave?.();
    await this.#working;
    await this.sync();
    this.#closed = true;
    await this.#salted.close().catch(() => undefined); // the end of the process closes it
  }

  #isDue(key: string, nowMs: number, { checked }: Waiting): boolean {
    const last = checked.get(key);
    if (last !== undefined && nowMs - last < freshMs) return false;
    checked.set(key, nowMs);
    checked.trim(maxChecked);
    return true;
  }

  #scheduleLoad(): void {
    if (this.#loadScheduled || this.#closed || this.#options.clock.now() < this.#pausedUntilMs) return;
    this.#loadScheduled = true;
    setImmediate(() => {
      this.#loadScheduled = false;
      void this.#work();
    });
  }

  #scheduleSave(delayMs: number): void {
    if (this.#cancelSave !== undefined || this.#closed) return;
    this.#cancelSave = this.#options.timers.after(delayMs, () => {
      this.#cancelSave = undefined;
      void this.sync();
    });
  }

  /** Loads what waits, and saves what waits when that is due: a load must not make batches of saves small. */
  async #workOff(): Promise<void> {
    if (this.#closed) return;
    const { clock, onStore } = this.#options;
    try {
      const { store, salt } = await this.#salted.opened();
      for (;;) {
        for (const { part, waiting } of this.#parts.values())
          while (waiting.loads.size > 0) await this.#load(part, waiting, store, salt);
        if (!this.#saveDue) break;
        this.#saveDue = false;
        for (const { part, waiting } of this.#parts.values()) {
          // What changes meanwhile waits for others.
          for (let left = waiting.saves.size; left > 0; left -= maxBatch) await this.#save(part, waiting, store, salt);
        }
        await this.#prune(store);
      }
      if (this.#failures >= unavailableAfterFailures) onStore?.("available", undefined);
      this.#failures = 0;
    } catch (error) {
      this.#failures++;
      if (this.#failures === unavailableAfterFailures) onStore?.("unavailable", error);
      this.#pausedUntilMs = clock.now() + retryMs;
      // What was to be loaded is not worth waiting for; what was to be saved may still be.
      for (const { waiting } of this.#parts.values()) waiting.loads.clear();
      this.#scheduleSave(this.#failures === 1 ? saveEveryMs : retryMs);
    }
  }

  async #open(): Promise<SaltedStore> {
    const { openStore, shared, clock } = this.#options;
    const store = await openStore();
    try {
      const salt = await store.salt();
      if (!shared) {
        for (const { part, waiting } of this.#parts.values()) {
          const newestMs = await store.newest(part.kind);
          waiting.othersUntilMs =
            newestMs === undefined ? Number.NEGATIVE_INFINITY : Math.max(newestMs, clock.now() + handOverMs);
        }
      }
      return { store, salt, close: () => store.close() };
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  async #load(part: SharedPart, waiting: Waiting, store: RoutingMemoryStore, salt: string): Promise<void> {
    const wanted = [...waiting.loads].slice(0, maxBatch);
    const byHash = new Map(wanted.map(([key, missed]) => [hashOf(salt, key), { key, missed }]));
    const rows = await store.load(part.kind, [...byHash.keys()]);
    const nowMs = this.#options.clock.now();
    for (const [key] of wanted) {
      waiting.loads.delete(key);
      if (this.#options.shared) waiting.checked.set(key, nowMs);
    }
    waiting.checked.trim(maxChecked);
    const oldestMs = nowMs - part.limits().remembered_ms;
    for (const row of rows) {
      const asked = byHash.get(row.keyHash);
      if (asked !== undefined && row.lastSeenMs >= oldestMs) part.take(asked.key, row, asked.missed);
    }
  }

  async #save(part: SharedPart, waiting: Waiting, store: RoutingMemoryStore, salt: string): Promise<void> {
    const keys = [...waiting.saves].slice(0, maxBatch);
    const rows = keys.flatMap((key): MemoryRow[] => {
      const known = part.read(key);
      return known === undefined ? [] : [{ kind: part.kind, keyHash: hashOf(salt, key), ...known }];
    });
    // Taken out first: a change that comes while this is written is another one.
    for (const key of keys) waiting.saves.delete(key);
    try {
      await store.save(rows);
    } catch (error) {
      for (const key of keys) if (waiting.saves.size < maxWaiting) waiting.saves.add(key);
      throw error;
    }
  }

  async #prune(store: RoutingMemoryStore): Promise<void> {
    const nowMs = this.#options.clock.now();
    if (nowMs - this.#prunedMs < pruneEveryMs) return;
    for (const { part } of this.#parts.values()) {
      const { remembered, remembered_ms } = part.limits();
      await store.prune(part.kind, { rows: remembered, fromMs: nowMs - remembered_ms });
    }
    this.#prunedMs = nowMs;
  }
}

/** The store with the salt of its keys. */
interface SaltedStore {
  readonly store: RoutingMemoryStore;
  readonly salt: string;
  close(): Promise<void>;
}

/** Half a SHA-256: nobody who reads the store can tell ids or prompts from it without trying them with the salt. */
function hashOf(salt: string, key: string): string {
  return Bun.SHA256.hash(`${salt}\n${key}`, "hex").slice(0, 32);
}
