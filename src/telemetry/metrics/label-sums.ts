/**
 * Sums by labels, in a tree with a step for each label. Labels are the same few strings each time, which a map finds faster
 * than a key that is put together anew.
 */
export class LabelSums {
  readonly #longer = new Map<string, LabelSums>();
  /** Undefined while nothing was added for exactly these labels. */
  #sum: number | undefined;

  add(amount: number, labels: readonly string[]): void {
    let node: LabelSums = this;
    for (const label of labels) {
      let next = node.#longer.get(label);
      if (next === undefined) {
        next = new LabelSums();
        node.#longer.set(label, next);
      }
      node = next;
    }
    node.#sum = (node.#sum ?? 0) + amount;
  }

  /** Hands out every sum with its labels, and forgets it. */
  drain(take: (sum: number, labels: readonly string[]) => void, labels: readonly string[] = []): void {
    if (this.#sum !== undefined) take(this.#sum, labels);
    this.#sum = undefined;
    for (const [label, longer] of this.#longer) longer.drain(take, [...labels, label]);
  }
}
