/**
 * Places in a text by places in what was made of it. Both advance in step nearly everywhere, so only those places are kept at which
 * the distance between the two changes. To be noted in ascending order.
 */
export class SourceOffsets {
  readonly #places: number[] = [];
  readonly #distances: number[] = [];
  /** From the last noted place on, to be added to a place. */
  #distance = 0;

  /** Notes where the character at a place came from, and those behind it as far as nothing else is noted; the last note of a place counts. */
  note(place: number, source: number): void {
    if (source - place === this.#distance) return;
    this.#distance = source - place;
    if (this.#places.at(-1) === place) {
      this.#places.pop();
      this.#distances.pop();
      // What was noted of the same place before may have been for nothing.
      if (this.#distance === (this.#distances.at(-1) ?? 0)) return;
    }
    this.#places.push(place);
    this.#distances.push(this.#distance);
  }

  /** Where the character at a place came from. */
  at(place: number): number {
    return place + (this.#distances[this.#lastUpTo(place)] ?? 0);
  }

  /** Whether the character at a place did not directly follow the one before it. */
  isBreak(place: number): boolean {
    return this.#places[this.#lastUpTo(place)] === place;
  }

  /** The index of the last noted place up to another; -1 where there is none. */
  #lastUpTo(place: number): number {
    let low = -1;
    let high = this.#places.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#places[middle] ?? 0) <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
