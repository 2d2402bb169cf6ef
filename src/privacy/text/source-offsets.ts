/** Places in a text by places in what was made of it, noted in ascending order where their distance changes. */
export class SourceOffsets {
  readonly #places: number[] = [];
  readonly #distances: number[] = [];
  /** From the last noted place on, to be added to a place. */
  #distance = 0;

  /** Notes where the character at a place came from, and those behind it; the last note of a place counts. */
  note(place: number, source: number): void {
    const distance = source - place;
    if (distance === this.#distance) return;
    this.#distance = distance;
    let count = this.#places.length;
    if (count > 0 && this.#places[count - 1] === place) count--;
    // What was noted of the same place before may have been for nothing.
    if (distance === (count === 0 ? 0 : this.#distances[count - 1])) {
      this.#places.length = count;
      this.#distances.length = count;
      return;
    }
    this.#places[count] = place;
    this.#distances[count] = distance;
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
