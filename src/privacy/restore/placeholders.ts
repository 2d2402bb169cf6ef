import type { Json } from "#domain/chat.ts";

/** Gives each secret of one request its placeholder: same secret, same number; numbers in order of first appearance. */
export class Placeholders {
  readonly #byValue = new Map<string, string>();
  readonly #standing: (() => StandingPlaceholders) | undefined;
  #taken: StandingPlaceholders | undefined;
  #last = 0;

  /** @param standing asked at the first secret, where a placeholder must not be one that stands in the text already */
  constructor(standing?: () => StandingPlaceholders) {
    this.#standing = standing;
  }

  of(rule: string, value: string): string {
    let placeholder = this.#byValue.get(value);
    if (placeholder === undefined) {
      if (this.#taken === undefined && this.#standing !== undefined) {
        this.#taken = this.#standing();
        this.#last = this.#taken.highest;
      }
      do {
        this.#last += 1;
        placeholder = `[REDACTED:${rule}:${this.#last}]`;
      } while (this.#taken?.beyond.has(placeholder) === true);
      this.#byValue.set(value, placeholder);
    }
    return placeholder;
  }

  /** Placeholder → value. */
  values(): Map<string, string> {
    return new Map([...this.#byValue].map(([value, placeholder]) => [placeholder, value]));
  }
}

/** Placeholders that a body holds already: of an earlier turn, another conversation, or somebody's invention. */
export interface StandingPlaceholders {
  /** The highest of their numbers, 0 where there is none; but for those in `beyond`. */
  readonly highest: number;
  /** Those whose number is so high that numbers above it could not be told any more. */
  readonly beyond: ReadonlySet<string>;
}

const standing = /\[REDACTED:[a-z][a-z0-9_]{0,63}:([0-9]{1,9})\]/g;
/** Leaves room for more secrets than a request can hold, in nine digits. */
const highestCounted = 99_999_999;

/** All placeholders in the strings and keys of a value, also across the joints of text parts. */
export function standingPlaceholders(value: Json): StandingPlaceholders {
  let highest = 0;
  const beyond = new Set<string>();
  const read = (text: string) => {
    if (!text.includes(":")) return;
    for (const [placeholder, digits] of text.matchAll(standing)) {
      const number = Number(digits);
      if (number > highestCounted) beyond.add(placeholder);
      else if (number > highest) highest = number;
    }
  };
  const visit = (each: Json): void => {
    if (typeof each === "string") read(each);
    if (each === null || typeof each !== "object") return;
    if (Array.isArray(each)) {
      for (const item of each) visit(item);
      if (each.length > 1) read(each.map(textOf).join(""));
      return;
    }
    for (const key of Object.keys(each)) {
      read(key);
      visit(each[key] ?? null);
    }
  };
  visit(value);
  return { highest, beyond };
}

function textOf(part: Json): string {
  if (typeof part === "string") return part;
  if (part === null || typeof part !== "object" || Array.isArray(part)) return "";
  const text = part["text"] ?? part["refusal"];
  return typeof text === "string" ? text : "";
}
