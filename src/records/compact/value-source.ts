/** Gives the values of a list one after the other. The caller names the type, which is that of the value written at this place. */
export class ValueSource {
  readonly #values: readonly unknown[];
  #at = 0;

  constructor(values: readonly unknown[]) {
    this.#values = values;
  }

  next<T>(): T {
    return this.#values[this.#at++] as T;
  }
}
