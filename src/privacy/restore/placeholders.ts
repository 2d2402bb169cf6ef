import type { ChatBody } from "#privacy/redaction.ts";

/** Gives each secret of one request its placeholder: same secret, same number; numbers in order of first appearance. */
export class Placeholders {
  /** Not there before the first: most requests hold no secret. */
  #byValue: Map<string, string> | undefined;
  readonly #besides: ChatBody | undefined;
  #existing: ExistingPlaceholders | undefined;
  #lastNumber = 0;

  /** @param besides a body whose placeholders they must differ from, where there is one */
  constructor(besides?: ChatBody) {
    this.#besides = besides;
  }

  of(rule: string, value: string): string {
    this.#byValue ??= new Map();
    let placeholder = this.#byValue.get(value);
    if (placeholder === undefined) {
      if (this.#existing === undefined && this.#besides !== undefined) {
        this.#existing = findExistingPlaceholders(this.#besides);
        this.#lastNumber = this.#existing.highestNumber;
      }
      do {
        this.#lastNumber += 1;
        placeholder = `[REDACTED:${rule}:${this.#lastNumber}]`;
      } while (this.#existing?.outOfRange.has(placeholder) === true);
      this.#byValue.set(value, placeholder);
    }
    return placeholder;
  }

  /** Placeholder → value. */
  values(): Map<string, string> {
    return new Map([...(this.#byValue ?? [])].map(([value, placeholder]) => [placeholder, value]));
  }
}

/** Placeholders that a body holds already: of an earlier turn, another conversation, or somebody's invention. */
interface ExistingPlaceholders {
  /** The highest of their numbers, 0 where there is none; but for those in `beyond`. */
  readonly highestNumber: number;
  /** Those whose number is so high that there is no room for numbers above it. */
  readonly outOfRange: ReadonlySet<string>;
}

const existingPlaceholder = /\[REDACTED:[a-z][a-z0-9_]{0,63}:[0-9]{1,9}\]/g;
/** Leaves room for more secrets than a request can hold, in nine digits. */
const maxCountedNumber = 99_999_999;

/** All placeholders in the strings and keys of a body, also across the joints of text parts. */
function findExistingPlaceholders(body: ChatBody): ExistingPlaceholders {
  const keys: string[] = [];
  const texts: string[] = [];
  JSON.stringify(body, (key, value: unknown) => {
    keys.push(key);
    // All that stands between the texts of two parts is their type.
    if (typeof value === "string" && key !== "type") texts.push(value);
    return value;
  });
  let highestNumber = 0;
  const outOfRange = new Set<string>();
  for (const [placeholder] of `${keys.join(" ")} ${texts.join("")}`.matchAll(existingPlaceholder)) {
    const number = Number(placeholder.slice(placeholder.lastIndexOf(":") + 1, -1));
    if (number > maxCountedNumber) outOfRange.add(placeholder);
    else if (number > highestNumber) highestNumber = number;
  }
  return { highestNumber, outOfRange };
}
