import { AddressContext } from "./address-context.ts";

/** Puts redacted values back into answer text. Never used for tool-call arguments: see docs/privacy.md. */
export interface Restorer {
  /** A whole answer. */
  text(answer: string): string;
  /** One streamed answer; each choice of a request needs its own. */
  stream(): RestoringStream;
}

export interface RestoringStream {
  /** The text that may go to the caller now; the start of a possible placeholder is held back. */
  push(text: string): string;
  /** What was held back, once the answer has ended. */
  flush(): string;
}

const placeholder = /\[REDACTED:[a-z][a-z0-9_]{0,63}:[0-9]{1,9}\]/g;
/** A prefix of a placeholder at the end of a text, or one whose next characters tell whether it begins an address. */
const openPlaceholder =
  /\[(?:R(?:E(?:D(?:A(?:C(?:T(?:E(?:D(?::(?:[a-z][a-z0-9_]{0,63}(?::(?:[0-9]{1,9}(?:\](?:\.|:\/?)?)?)?)?)?)?)?)?)?)?)?)?)?)?$/;
/** What makes an address of what stands before it: `….example.com`, `…@example.com`, `…://`. */
const addressContinuation = /^(?:\.[A-Za-z0-9\u0080-\uffff]|@|:\/\/)/;
/** No placeholder is longer, so no more than this is ever held back. */
const maxPlaceholderLength = "[REDACTED:".length + 64 + 1 + 9 + "]:/".length;

/** @param values placeholder → value, for the placeholders of one request */
export function createRestorer(values: ReadonlyMap<string, string>): Restorer {
  const stream = () => new PlaceholderRestorer(values);
  return {
    stream,
    text(answer) {
      const restoring = stream();
      return restoring.push(answer) + restoring.flush();
    },
  };
}

class PlaceholderRestorer implements RestoringStream {
  readonly #values: ReadonlyMap<string, string>;
  /** Of what has been given out. */
  readonly #context = new AddressContext();
  #held = "";

  constructor(values: ReadonlyMap<string, string>) {
    this.#values = values;
  }

  push(chunk: string): string {
    const all = this.#held + chunk;
    const tailAt = Math.max(0, all.length - maxPlaceholderLength);
    const open = all.slice(tailAt).search(openPlaceholder);
    const cut = open < 0 ? all.length : tailAt + open;
    this.#held = all.slice(cut);
    return this.#restored(all.slice(0, cut));
  }

  flush(): string {
    const rest = this.#held;
    this.#held = "";
    return this.#restored(rest);
  }

  #restored(text: string): string {
    let out = "";
    let at = 0;
    const give = (piece: string) => {
      this.#context.push(piece);
      out += piece;
    };
    for (const match of text.matchAll(placeholder)) {
      give(text.slice(at, match.index));
      at = match.index + match[0].length;
      const value = this.#values.get(match[0]);
      const inAddress = this.#context.inAddress || addressContinuation.test(text.slice(at, at + 3));
      // A value that is given out may itself be an address, or end one's scheme.
      give(value === undefined || inAddress ? match[0] : value);
    }
    give(text.slice(at));
    return out;
  }
}
