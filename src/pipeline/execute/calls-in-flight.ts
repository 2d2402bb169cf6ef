import type { Model, ModelKey } from "#domain/model.ts";
import type { Permit } from "#health/health.ts";
import type { AbortSignalLike } from "#platform/abort.ts";
import type { Timers } from "#platform/time.ts";

/** The calls to a model with `max_in_flight`, and the requests that wait for one of them to end. */
interface Calls {
  /** The limit, which a reload can change. */
  most: number;
  inFlight: number;
  waiting: number;
  /** By caller, each in the order of arrival; the caller whose turn it is comes first. */
  readonly queues: Map<number, Set<() => void>>;
}

/** Keeps calls to a model within its `max_in_flight`, in this process. Models without one are not counted. */
export class CallsInFlight {
  readonly #timers: Timers;
  readonly #models = new Map<ModelKey, Calls>();

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /**
   * Takes a place for one call; waits `waitMs` at most, behind nobody but requests of the same caller and one of each
   * other. False: there is none, or the caller has disconnected. Who got one gives it back through `permitFor`, or
   * `release`.
   */
  acquire(
    { key, maxInFlight: most = 0 }: Model,
    caller: number,
    waitMs: number,
    signal: AbortSignalLike,
  ): Promise<boolean> {
    let calls = this.#models.get(key);
    if (calls === undefined) {
      calls = { most, inFlight: 0, waiting: 0, queues: new Map() };
      this.#models.set(key, calls);
    }
    calls.most = most;
    if (calls.inFlight < most && calls.waiting === 0) {
      calls.inFlight += 1;
      return Promise.resolve(true);
    }
    return waitMs <= 0 || signal.aborted ? Promise.resolve(false) : this.#wait(calls, caller, waitMs, signal);
  }

  #wait(calls: Calls, caller: number, waitMs: number, signal: AbortSignalLike): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isAdmitted: boolean) => {
        cancel();
        signal.removeEventListener("abort", giveUp);
        calls.waiting -= 1;
        resolve(isAdmitted);
      };
      const admit = () => end(true);
      const giveUp = () => {
        const queue = calls.queues.get(caller);
        queue?.delete(admit);
        if (queue?.size === 0) calls.queues.delete(caller);
        end(false);
      };
      const cancel = this.#timers.after(waitMs, giveUp);
      signal.addEventListener("abort", giveUp, { once: true });
      calls.waiting += 1;
      calls.queues.set(caller, (calls.queues.get(caller) ?? new Set()).add(admit));
    });
  }

  /** A call has ended, or was not made: its place goes to the next caller's oldest request. */
  release(key: ModelKey): void {
    const calls = this.#models.get(key);
    if (calls === undefined) return;
    const [next] = calls.queues;
    const [admit] = next?.[1] ?? [];
    if (next === undefined || admit === undefined || calls.inFlight > calls.most) {
      calls.inFlight -= 1;
      return;
    }
    // Behind all other callers that wait.
    const [caller, queue] = next;
    queue.delete(admit);
    calls.queues.delete(caller);
    if (queue.size > 0) calls.queues.set(caller, queue);
    admit();
  }

  /** The permit of a call that has a place, which ends with its report. */
  permitFor(permit: Permit): Permit {
    return {
      ...permit,
      report: (verdict) => {
        this.release(permit.model);
        permit.report(verdict);
      },
    };
  }

  /** By model, those that have had a limit. */
  counts(): readonly { readonly model: ModelKey; readonly inFlight: number; readonly waiting: number }[] {
    return [...this.#models].map(([model, { inFlight, waiting }]) => ({ model, inFlight, waiting }));
  }
}
