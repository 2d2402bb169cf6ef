/** A worker that leaves this many health requests in a row unanswered hangs: at one every ten seconds, after 20 to 30 s. */
const maxUnanswered = 2;

/**
 * Counts the requests that workers leave unanswered. It counts requests, not time: a supervisor that was stopped itself has sent
 * none.
 */
export class ResponseWatch<Worker extends object> {
  readonly #unanswered = new Map<Worker, number>();

  /** Call this before each request with the workers that will be asked. Returns the workers that hang. */
  asking(workers: readonly Worker[]): readonly Worker[] {
    const hanging = workers.filter((worker) => (this.#unanswered.get(worker) ?? 0) >= maxUnanswered);
    const counts = workers.map((worker) => [worker, (this.#unanswered.get(worker) ?? 0) + 1] as const);
    this.#unanswered.clear();
    for (const [worker, count] of counts) this.#unanswered.set(worker, count);
    return hanging;
  }

  answered(worker: Worker): void {
    this.#unanswered.delete(worker);
  }
}
