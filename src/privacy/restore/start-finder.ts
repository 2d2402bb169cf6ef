/** Codes of characters that have a column of their own; the others are in no start. */
const columns = 128;
/** In place of a state: a start is complete. */
const found = 255;

/**
 * Finds any of a few short texts, the starts, in a text that comes in pieces: one look into a table for each character, wherever
 * the pieces are cut. A state is how much of a start the text ends in; 0 is nothing.
 */
export class StartFinder {
  readonly #next: Uint8Array;
  /** The longest beginning of a start in each state. */
  readonly #beginnings: readonly string[];

  private constructor(next: Uint8Array, beginnings: readonly string[]) {
    this.#next = next;
    this.#beginnings = beginnings;
  }

  /** Undefined for starts with other characters than ASCII, and for too many of them. */
  static of(starts: readonly string[]): StartFinder | undefined {
    if (starts.some((start) => start === "" || /[^\x00-\x7f]/.test(start))) return undefined;
    const beginnings = [...new Set(["", ...starts.flatMap((start) => [...start].map((_, at) => start.slice(0, at)))])];
    if (beginnings.length >= found) return undefined;
    const next = new Uint8Array(beginnings.length * columns);
    for (const character of new Set(starts.join(""))) {
      for (const [state, beginning] of beginnings.entries()) {
        const text = beginning + character;
        const complete = starts.some((start) => text.endsWith(start));
        next[state * columns + character.charCodeAt(0)] = complete ? found : stateAfter(text, beginnings);
      }
    }
    return new StartFinder(next, beginnings);
  }

  /** The state after a piece of a JSON text that is between the quotes of a string; -1 if a start is complete in it. */
  afterJson(state: number, json: string, from = 0, to = json.length): number {
    let at = state;
    for (let index = from; index < to; index++) {
      let code = json.charCodeAt(index);
      if (code === BACKSLASH) {
        index += 1;
        code = json.charCodeAt(index);
        if (code === LETTER_U) return this.after(state, String(JSON.parse(`"${json.slice(from, to)}"`)));
        code = escapes.get(code) ?? code;
      }
      at = code < columns ? (this.#next[at * columns + code] ?? 0) : 0;
      if (at === found) return -1;
    }
    return at;
  }

  /** The same for a piece of the text itself. */
  after(state: number, text: string): number {
    let at = state;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      at = code < columns ? (this.#next[at * columns + code] ?? 0) : 0;
      if (at === found) return -1;
    }
    return at;
  }

  /** The beginning of a start that a text in this state ends in. */
  beginningOf(state: number): string {
    return this.#beginnings[state] ?? "";
  }

  /** The state of a text in which starts were let pass. */
  stateOf(text: string): number {
    return stateAfter(text, this.#beginnings);
  }
}

const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
/** What the letter behind a backslash stands for; other characters stand for themselves. */
const escapes: ReadonlyMap<number, number> = new Map(
  ["b\b", "f\f", "n\n", "r\r", "t\t"].map((pair) => [pair.charCodeAt(0), pair.charCodeAt(1)]),
);

/** The state of the longest beginning that a text ends in. */
function stateAfter(text: string, beginnings: readonly string[]): number {
  let longest = 0;
  for (const [state, beginning] of beginnings.entries()) {
    if (beginning.length > (beginnings[longest]?.length ?? 0) && text.endsWith(beginning)) longest = state;
  }
  return longest;
}
