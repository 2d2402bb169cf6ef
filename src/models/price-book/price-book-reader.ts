import type { Json } from "#domain/chat.ts";
import type { Model } from "#domain/model.ts";
import { LazyStore } from "#platform/lazy-store.ts";
import type { Clock, Random, Timers } from "#platform/time.ts";
import { type Drift, emptyPriceBook, type PriceBook, updatedBook } from "./price-book.ts";
import type { PriceBookStore } from "./price-book-store.ts";
import { listingsIn } from "./price-list.ts";

export interface PriceBookReaderOptions {
  /** Names the aggregator in the store: its base URL. */
  readonly source: string;
  /** Whether the policy has the price book on; asked before each reading. */
  readonly enabled: () => boolean;
  /** The registry's models as they were loaded, without the book. */
  readonly models: () => Iterable<Model>;
  /** The signal aborts when the reader is closed. */
  readonly readList: (
    signal: AbortSignal,
  ) => Promise<{ readonly kind: "ok"; readonly list: Json } | { readonly kind: "failed"; readonly detail: string }>;
  /** Called when the book is first needed, and again after a failure. */
  readonly openStore: () => Promise<PriceBookStore>;
  readonly clock: Pick<Clock, "now">;
  readonly timers: Timers;
  readonly random: Random;
  /** Applies a changed book. */
  readonly onChange: (book: PriceBook) => void;
  readonly onEvent: (event: PriceBookEvent) => void;
}

export type PriceBookEvent =
  /** The list was read. It named prices of `listed` of our `models`. */
  | { readonly kind: "read"; readonly listed: number; readonly models: number }
  /** The list could not be read; the last known prices stay in force. */
  | { readonly kind: "unavailable"; readonly detail: string }
  /** The store could not be read or written; the book in memory stays in force. */
  | { readonly kind: "store_failed"; readonly error: unknown }
  | ({ readonly kind: "drift" } & Drift);

/** The list is read once a day (nodes spread over two hours and a half), and sooner again after it could not be. */
const everyMs = 86_400_000;
const jitterShare = 0.1;
const retryMs = 900_000;
/** How long a start waits for the list, which usually comes within half a second. */
const startWaitMs = 2_000;

/**
 * Keeps the price book current: first from the store, then from the aggregator's list, which is read at the start and
 * daily. A failure here never fails a start or a request.
 */
export class PriceBookReader {
  readonly #options: PriceBookReaderOptions;
  #book: PriceBook = emptyPriceBook;
  readonly #store: LazyStore<PriceBookStore>;
  #reading: Promise<void> | undefined;
  #cancelTimer: () => void = () => undefined;
  #loaded = false;
  /** When the list was last asked for, and when it is to be asked for again; milliseconds since the epoch. */
  #askedMs = Number.NEGATIVE_INFINITY;
  #nextMs = Number.POSITIVE_INFINITY;
  readonly #closing = new AbortController();
  /** When a list was last read, by this process or another, in milliseconds since the epoch; undefined before that. */
  readMs: number | undefined;
  /** The differences that the last reading of this process found. */
  drifts: readonly Drift[] = [];

  constructor(options: PriceBookReaderOptions) {
    this.#options = options;
    this.#store = new LazyStore(options.openStore);
  }

  /** Starts, and waits a little for the first reading; a later result is applied when it comes. */
  async start(): Promise<void> {
    if (!this.#options.enabled()) return;
    let cancel: () => void = () => undefined;
    const waited = new Promise<void>((resolve) => {
      cancel = this.#options.timers.after(startWaitMs, resolve);
    });
    await Promise.race([this.refresh(), waited]);
    cancel();
  }

  /** Call this after policy or registry have changed: reads the list if it is enabled now and the book lacks a model. */
  configured(): void {
    if (!this.#options.enabled()) return;
    const lacks = [...this.#options.models()].some(({ upstreamId }) => !this.#book.has(upstreamId));
    if (!this.#loaded || lacks) void this.refresh();
  }

  /**
   * Prices seem to have changed: the list is read again, but not within a quarter of an hour of the last time. Until it
   * is, traffic of the model goes to others, mostly more expensive ones.
   */
  suspect(): void {
    const { clock, enabled } = this.#options;
    if (!enabled() || this.#reading !== undefined) return;
    const dueMs = this.#askedMs + retryMs;
    if (clock.now() >= dueMs) void this.refresh();
    else if (dueMs < this.#nextMs) this.#readAgainAt(dueMs);
  }

  /** Reads the list now; calls that overlap share one reading. Never rejects. */
  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#cancelTimer();
    await this.#store.close();
  }

  async #read(): Promise<void> {
    this.#cancelTimer();
    this.#nextMs = Number.POSITIVE_INFINITY;
    const { clock, enabled, models, onEvent, random, readList } = this.#options;
    if (this.#closing.signal.aborted || !enabled()) return;
    this.#askedMs = clock.now();
    const reply = readList(this.#closing.signal);
    // The stored book comes first: drift is measured against it.
    if (!this.#loaded) await this.#withStore((store) => this.#load(store));
    const answer = await reply;
    if (this.#closing.signal.aborted) return;
    this.#readAgainAt(clock.now() + (answer.kind === "ok" ? everyMs * (1 - jitterShare * random()) : retryMs));
    if (answer.kind === "failed") {
      onEvent({ kind: "unavailable", detail: answer.detail });
      return;
    }
    const wanted = [...models()];
    const listed = listingsIn(answer.list, new Map(wanted.map(({ upstreamId, free }) => [upstreamId, { free }])));
    const { book, drifts } = updatedBook(this.#book, listed, wanted, clock.now());
    this.readMs = clock.now();
    this.drifts = drifts;
    this.#apply(book);
    const named = wanted.filter(({ upstreamId }) => listed.get(upstreamId)?.price !== undefined).length;
    onEvent({ kind: "read", listed: named, models: wanted.length });
    for (const drift of drifts) onEvent({ kind: "drift", ...drift });
    if (named > 0) await this.#withStore((store) => store.save(this.#options.source, this.#book));
  }

  #readAgainAt(atMs: number): void {
    const { clock, timers } = this.#options;
    this.#cancelTimer();
    this.#nextMs = atMs;
    this.#cancelTimer = timers.after(Math.max(0, atMs - clock.now()), () => void this.refresh());
  }

  async #load(store: PriceBookStore): Promise<void> {
    const book = await store.load(this.#options.source);
    if (this.#closing.signal.aborted) return;
    this.#loaded = true;
    for (const { atMs } of book.values()) this.readMs = Math.max(this.readMs ?? 0, atMs);
    // Entries that this process has read itself are newer.
    if (book.size > 0) this.#apply(new Map([...book, ...this.#book]));
  }

  /** The book in memory stays in force where the store fails. */
  async #withStore(work: (store: PriceBookStore) => Promise<void>): Promise<void> {
    try {
      await work(await this.#store.opened());
    } catch (error) {
      this.#options.onEvent({ kind: "store_failed", error });
    }
  }

  #apply(book: PriceBook): void {
    this.#book = book;
    this.#options.onChange(book);
  }
}
