/** A worker that has left so many questions in a row unanswered hangs: at one every ten seconds, after 20 to 30 s. */
const maxUnanswered = 2;

/** Counts the questions that workers leave unanswered. It counts questions, not time: a supervisor that was stopped itself has asked none. */
export class ResponseWatch<Worker extends object> {
  readonly #unanswered = new Map<Worker, number>();

  /** Call this before each question with the workers that will be asked. Returns the workers that hang. */
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
