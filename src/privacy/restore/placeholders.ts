import type { ChatMessage, Json } from "#domain/chat.ts";
import { memoizeByMessage } from "#domain/message-memo.ts";

/**
 * Gives each secret of one request its placeholder: same secret, same number; numbers in order of first appearance,
 * without those of placeholders that stand in the request already, from an earlier turn or somebody's invention.
 */
export class Placeholders {
  readonly #byValue = new Map<string, string>();
  readonly #taken = new Set<number>();
  #lastNumber = 0;

  has(value: string): boolean {
    return this.#byValue.has(value);
  }

  of(rule: string, value: string): string {
    let placeholder = this.#byValue.get(value);
    if (placeholder === undefined) {
      do this.#lastNumber += 1;
      while (this.#taken.has(this.#lastNumber));
      placeholder = `[REDACTED:${rule}:${this.#lastNumber}]`;
      this.#byValue.set(value, placeholder);
    }
    return placeholder;
  }

  /** From now on, no value gets one of these numbers. */
  skip(numbers: readonly number[]): void {
    for (const number of numbers) this.#taken.add(number);
  }

  /** Placeholder → value. */
  values(): Map<string, string> {
    return new Map([...this.#byValue].map(([value, placeholder]) => [placeholder, value]));
  }
}

const existingPlaceholder = /\[REDACTED:[a-z][a-z0-9_]{0,63}:([0-9]{1,9})\]/g;

/** The numbers of all placeholders in the strings and keys of a value, also across the joints of text parts. */
export function placeholderNumbers(value: Json): readonly number[] {
  if (typeof value === "string") return numbersIn(value);
  const keys: string[] = [];
  const texts: string[] = [];
  JSON.stringify(value, (key, member: unknown) => {
    keys.push(key);
    // All that stands between the texts of two parts is their type.
    if (typeof member === "string" && key !== "type") texts.push(member);
    return member;
  });
  return numbersIn(`${keys.join(" ")} ${texts.join("")}`);
}

function numbersIn(text: string): readonly number[] {
  if (!text.includes("[REDACTED:")) return [];
  return Array.from(text.matchAll(existingPlaceholder), ([, number]) => Number(number));
}

export const placeholderNumbersOf: (message: ChatMessage) => readonly number[] = memoizeByMessage(placeholderNumbers);
