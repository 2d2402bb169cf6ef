/**
 * Places in a text by places in what was made of it. Both advance in step nearly everywhere, so only those places are kept at which
 * the distance between the two changes. To be noted in ascending order.
 */
export class SourceOffsets {
  #places = new Int32Array(1_024);
  #distances = new Int32Array(1_024);
  #count = 0;
  /** From the last noted place on, to be added to a place. */
  #distance = 0;

  clear(): void {
    if (this.#places.length > keptLength) {
      this.#places = new Int32Array(1_024);
      this.#distances = new Int32Array(1_024);
    }
    this.#count = 0;
    this.#distance = 0;
  }

  /** Notes where the character at a place came from, and those behind it as far as nothing else is noted; the last note of a place counts. */
  note(place: number, source: number): void {
    if (source - place === this.#distance) return;
    this.#distance = source - place;
    let count = this.#count;
    if (count > 0 && this.#places[count - 1] === place) count--;
    // What was noted of the same place before may have been for nothing.
    if (this.#distance !== (count === 0 ? 0 : this.#distances[count - 1])) {
      if (count === this.#places.length) this.#grow();
      this.#places[count] = place;
      this.#distances[count] = this.#distance;
      count++;
    }
    this.#count = count;
  }

  /** Where the character at a place came from. */
  at(place: number): number {
    const index = this.#lastUpTo(place);
    return index < 0 ? place : place + (this.#distances[index] ?? 0);
  }

  /** Whether the character at a place did not directly follow the one before it. */
  isBreak(place: number): boolean {
    const index = this.#lastUpTo(place);
    return index >= 0 && this.#places[index] === place;
  }

  /** The index of the last noted place up to another; -1 where there is none. */
  #lastUpTo(place: number): number {
    let low = -1;
    let high = this.#count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#places[middle] ?? 0) <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #grow(): void {
    const places = new Int32Array(2 * this.#places.length);
    const distances = new Int32Array(2 * this.#places.length);
    places.set(this.#places);
    distances.set(this.#distances);
    this.#places = places;
    this.#distances = distances;
  }
}

/** Longer arrays are given back after use. */
const keptLength = 2_097_152;
