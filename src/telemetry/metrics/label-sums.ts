/**
 * Sums by labels, in a tree with a step for each label. Labels are the same few strings each time, which a map finds faster
 * than a key that is put together anew.
 */
export class LabelSums {
  readonly #longer = new Map<string, LabelSums>();
  /** Undefined while nothing was added for exactly these labels. */
  #sum: number | undefined;

  /** Up to four labels, one by one: a rest parameter would make an array for each call. */
  add(amount: number, first?: string, second?: string, third?: string, fourth?: string): void {
    if (first === undefined) this.#sum = (this.#sum ?? 0) + amount;
    else this.#withLabel(first).add(amount, second, third, fourth);
  }

  #withLabel(label: string): LabelSums {
    let longer = this.#longer.get(label);
    if (longer === undefined) {
      longer = new LabelSums();
      this.#longer.set(label, longer);
    }
    return longer;
  }

  /** Calls back with every sum and its labels. */
  each(visit: (sum: number, labels: readonly string[]) => void, labels: readonly string[] = []): void {
    if (this.#sum !== undefined) visit(this.#sum, labels);
    for (const [label, longer] of this.#longer) longer.each(visit, [...labels, label]);
  }
}
