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

  /** Calls back with every sum and its labels. */
  each(visit: (sum: number, labels: readonly string[]) => void, labels: readonly string[] = []): void {
    if (this.#sum !== undefined) visit(this.#sum, labels);
    for (const [label, longer] of this.#longer) longer.each(visit, [...labels, label]);
  }
}
