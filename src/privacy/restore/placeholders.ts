/** Gives each secret of one request its placeholder: same secret, same number; numbers in order of first appearance. */
export class Placeholders {
  readonly #byValue = new Map<string, string>();

  of(rule: string, value: string): string {
    let placeholder = this.#byValue.get(value);
    if (placeholder === undefined) {
      placeholder = `[REDACTED:${rule}:${this.#byValue.size + 1}]`;
      this.#byValue.set(value, placeholder);
    }
    return placeholder;
  }

  /** Placeholder → value. */
  values(): Map<string, string> {
    return new Map([...this.#byValue].map(([value, placeholder]) => [placeholder, value]));
  }
}
