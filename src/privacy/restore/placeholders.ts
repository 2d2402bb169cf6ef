import type { Json } from "#domain/chat.ts";
import { memoizeByMessage, wholeMessage } from "#domain/known-message.ts";
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
function findExistingPlaceholders({ messages, ...members }: ChatBody): ExistingPlaceholders {
  let highestNumber = 0;
  const outOfRange = new Set<string>();
  for (const found of [placeholdersIn(members), ...messages.map(placeholdersInMessage)]) {
    for (const placeholder of found) {
      const number = Number(placeholder.slice(placeholder.lastIndexOf(":") + 1, -1));
      if (number > maxCountedNumber) outOfRange.add(placeholder);
      else if (number > highestNumber) highestNumber = number;
    }
  }
  return { highestNumber, outOfRange };
}

const placeholdersInMessage = memoizeByMessage((message) => placeholdersIn(wholeMessage(message)));
const none: readonly string[] = [];

function placeholdersIn(value: Json): readonly string[] {
  let found: string[] | undefined;
  const read = (text: string) => {
    if (!text.includes(":")) return;
    for (const [placeholder] of text.matchAll(existingPlaceholder)) {
      found ??= [];
      found.push(placeholder);
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
  return found ?? none;
}

function textOf(part: Json): string {
  if (typeof part === "string") return part;
  if (part === null || typeof part !== "object" || Array.isArray(part)) return "";
  const text = part["text"] ?? part["refusal"];
  return typeof text === "string" ? text : "";
}
