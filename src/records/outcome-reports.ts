import type { Clock, Timers } from "#platform/time.ts";
import type { ReportedOutcome } from "./records.ts";

/** Reports that wait, of all callers and of one. */
const maxWaiting = 1_000;
const maxOfCaller = 100;
/** Writing reports takes the main thread some milliseconds a block, so little is written at a time. */
const writeEveryMs = 250;
/** Decisions whose blocks are read at a time; all reports that wait for records of these blocks are written with them. */
const decisionsAtOnce = 4;

interface Time {
  readonly clock: Pick<Clock, "monotonic">;
  readonly timers: Timers;
}

interface Waiting {
  report: ReportedOutcome;
  readonly callbacks: { readonly resolve: (known: boolean) => void; readonly reject: (error: unknown) => void }[];
}
/** Writes what is known of `all` and stands in the blocks of `first`; returns those decisions. Of `first`, the others are not known. */
type Write = (first: readonly string[], all: ReadonlyMap<string, ReportedOutcome>) => Promise<ReadonlySet<string>>;

interface Caller {
  /** Of reports that wait for an answer. */
  count: number;
  readonly decisions: Map<string, Waiting>;
}

/**
 * What callers report of decisions, written behind the requests: reports of one decision are merged, those of one block
 * are written together, and callers take turns.
 */
export class OutcomeReports {
  readonly #write: Write;
  readonly #time: Time;
  readonly #callers = new Map<number, Caller>();
  #count = 0;
  #isDue = false;
  #nextMs = 0;

  constructor(write: Write, time: Time) {
    this.#write = write;
    this.#time = time;
  }

  /** Whether the decision is known, once that is written; undefined where too much waits. */
  add(report: ReportedOutcome, caller: number): Promise<boolean> | undefined {
    const own = this.#callers.get(caller) ?? { count: 0, decisions: new Map<string, Waiting>() };
    if (this.#count >= maxWaiting || own.count >= maxOfCaller) return undefined;
    const waiting = own.decisions.get(report.decisionId) ?? { report, callbacks: [] };
    const { promise, ...callbacks } = Promise.withResolvers<boolean>();
    waiting.report = report;
    waiting.callbacks.push(callbacks);
    own.decisions.set(report.decisionId, waiting);
    this.#callers.set(caller, own);
    own.count += 1;
    this.#count += 1;
    this.#schedule();
    return promise;
  }

  #schedule(): void {
    if (this.#isDue || this.#count === 0) return;
    this.#isDue = true;
    this.#time.timers.after(Math.max(0, this.#nextMs - this.#time.clock.monotonic()), () => void this.#writeSome());
  }

  async #writeSome(): Promise<void> {
    const first = this.#firstInTurn();
    const callers = [...this.#callers.values()];
    const all = new Map(callers.flatMap(({ decisions }) => [...decisions].map(([id, { report }]) => [id, report])));
    try {
      const known = await this.#write(first, all);
      for (const id of known) this.#answer(id, all.get(id), true);
      for (const id of first) if (!known.has(id)) this.#answer(id, all.get(id), false);
    } catch (error) {
      for (const id of first) this.#answer(id, all.get(id), error);
    }
    this.#nextMs = this.#time.clock.monotonic() + writeEveryMs;
    this.#isDue = false;
    this.#schedule();
  }

  /** The first decisions of each caller in turn. */
  #firstInTurn(): string[] {
    const lists = [...this.#callers.values()].map(({ decisions }) => [...decisions.keys()]);
    const longest = Math.max(...lists.map((ids) => ids.length));
    const inTurn = Array.from({ length: longest }, (_, at) => lists.flatMap((ids) => ids[at] ?? [])).flat();
    return [...new Set(inTurn)].slice(0, decisionsAtOnce);
  }

  /** Answers those whose report was written; a newer one waits on. */
  #answer(id: string, written: ReportedOutcome | undefined, result: unknown): void {
    for (const [caller, own] of this.#callers) {
      const waiting = own.decisions.get(id);
      if (waiting === undefined || (result === true && waiting.report !== written)) continue;
      own.decisions.delete(id);
      own.count -= waiting.callbacks.length;
      this.#count -= waiting.callbacks.length;
      // Who has been served is behind the others.
      this.#callers.delete(caller);
      if (own.count > 0) this.#callers.set(caller, own);
      for (const { resolve, reject } of waiting.callbacks)
        typeof result === "boolean" ? resolve(result) : reject(result);
    }
  }
}
