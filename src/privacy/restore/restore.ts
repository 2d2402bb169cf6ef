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
/** A prefix of a placeholder at the end of a text. */
const openPlaceholder =
  /\[(?:R(?:E(?:D(?:A(?:C(?:T(?:E(?:D(?::(?:[a-z][a-z0-9_]{0,63}(?::[0-9]{0,9})?)?)?)?)?)?)?)?)?)?)?$/;
/** No placeholder is longer, so no more than this is ever held back. */
const longestPlaceholder = "[REDACTED:".length + 64 + 1 + 9 + 1;

/** @param values placeholder → value, for the placeholders of one request */
export function restorer(values: ReadonlyMap<string, string>): Restorer {
  const text = (answer: string) =>
    answer.includes("[REDACTED:") ? answer.replace(placeholder, (found) => values.get(found) ?? found) : answer;
  return {
    text,
    stream() {
      let held = "";
      return {
        push(chunk) {
          const all = held + chunk;
          const tailAt = Math.max(0, all.length - longestPlaceholder);
          const open = all.slice(tailAt).search(openPlaceholder);
          const cut = open < 0 ? all.length : tailAt + open;
          held = all.slice(cut);
          return text(all.slice(0, cut));
        },
        flush() {
          const rest = held;
          held = "";
          return text(rest);
        },
      };
    },
  };
}
