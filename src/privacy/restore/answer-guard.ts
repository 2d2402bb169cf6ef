import type { AnswerGuard, GuardedStream, JsonPieces } from "#privacy/redaction.ts";
import type { ExactValue } from "#privacy/rules/exact-values.ts";
import { type KeyForm, keyForms } from "./key-forms.ts";
import { StartFinder } from "./start-finder.ts";

/** Shorter keys stand in ordinary text, and so do those below the second length without a digit. */
const minKeyLength = 8;
const minWordlikeKeyLength = 16;
/** A text above so many characters is searched as bytes, which takes a fifth of the time for each form, and is not copied. */
const longText = 65_536;

/** Keeps a key that upstreams know, because every call carries it, out of their answers; undefined for keys that are ordinary words. */
export function createAnswerGuard({ rule, value }: ExactValue): AnswerGuard | undefined {
  if (value.length < minKeyLength || (value.length < minWordlikeKeyLength && !/[0-9]/.test(value))) return undefined;
  return new KeyGuard(value, `[REDACTED:${rule}:1]`);
}

class KeyGuard implements AnswerGuard {
  readonly placeholder: string;
  readonly forms: readonly KeyForm[];
  /** Undefined for a key that it cannot look for; then no piece passes without a look at all forms. */
  readonly finder: StartFinder | undefined;
  readonly longestHead: number;
  /** Nobody writes it with escapes in JSON. */
  readonly #plain: boolean;
  /** What an escaped slash may hide. */
  readonly #hasSlash: boolean;
  readonly #anyHead: RegExp;
  readonly #heads: readonly Uint8Array[];

  constructor(key: string, placeholder: string) {
    this.placeholder = placeholder;
    this.forms = keyForms(key);
    const starts = this.forms.map(({ start }) => start);
    this.finder = StartFinder.of(starts);
    this.longestHead = Math.max(...this.forms.map(({ head }) => head.length));
    this.#plain = /^[\w-]+$/.test(key);
    this.#anyHead = new RegExp(this.forms.map(({ head }) => RegExp.escape(head)).join("|"));
    this.#heads = this.forms.map(({ head }) => Buffer.from(head));
    this.#hasSlash = this.forms.some(({ head }) => head.includes("/"));
  }

  mayContainKey(json: string): boolean {
    if (!this.#plain || this.holdsHead(json)) return true;
    return this.#hasSlash && json.includes("\\/");
  }

  /** Whether the head of a form stands in a text. */
  holdsHead(text: string): boolean {
    if (text.length <= longText) return this.#anyHead.test(text);
    const bytes = Buffer.from(text);
    return this.#heads.some((head) => bytes.includes(head));
  }

  text(text: string): string {
    if (!this.holdsHead(text)) return text;
    const stream = this.stream();
    return stream.push(text) + stream.flush();
  }

  stream(): GuardedStream {
    return new KeyGuardStream(this);
  }

  /** The first form in a text, and how much of it follows there. */
  find(text: string): { readonly at: number; readonly whole: string; readonly length: number } | undefined {
    const at = text.search(this.#anyHead);
    if (at < 0) return undefined;
    let [found, length] = ["", 0];
    for (const { head, whole } of this.forms) {
      if (!text.startsWith(head, at)) continue;
      const shared = sharedLength(text, at, whole, 0);
      if (shared > length) [found, length] = [whole, shared];
    }
    return { at, whole: found, length };
  }

  /** How much of the end of a text is a beginning of a form worth holding back. */
  openLength(text: string): number {
    let open = 0;
    for (const { head, start } of this.forms) {
      for (let length = Math.min(head.length - 1, text.length); length >= start.length && length > open; length--)
        if (text.endsWith(head.slice(0, length))) open = length;
    }
    return open;
  }
}

class KeyGuardStream implements GuardedStream {
  readonly #own: KeyGuard;
  /** The last characters given out, in which a form may have begun; undefined as long as `#state` says all of them. */
  #given: string | undefined;
  #state = 0;
  /** What may be the beginning of a form, together with the end of what was given out. */
  #held = "";
  /** The form of which so much was replaced; what follows of it is left out. */
  #replaced: { readonly whole: string; readonly length: number } | undefined;

  constructor(own: KeyGuard) {
    this.#own = own;
  }

  passesUnchanged(json: string, from = 0, to = json.length): boolean {
    const { finder } = this.#own;
    return (
      finder !== undefined && this.#isBetween(finder) && this.#enter(finder.afterJson(this.#state, json, from, to))
    );
  }

  passUnchanged({ json, ends, first, gap }: JsonPieces, from: number): number {
    const { finder } = this.#own;
    if (finder === undefined || !this.#isBetween(finder)) return from;
    let at = from;
    let begin = from === 0 ? first : (ends[from - 1] ?? 0) + gap;
    for (; at < ends.length; at++) {
      const end = ends[at] ?? 0;
      if (!this.#enter(finder.afterJson(this.#state, json, begin, end))) break;
      begin = end + gap;
    }
    return at;
  }

  /** Whether nothing is held back or left out. Then what the text given out ends in is all that counts of it. */
  #isBetween(finder: StartFinder): boolean {
    if (this.#given === undefined) return true;
    if (this.#held !== "" || this.#replaced !== undefined) return false;
    this.#state = finder.stateOf(this.#given);
    this.#given = undefined;
    return true;
  }

  /** False where a start is complete. */
  #enter(state: number): boolean {
    if (state < 0) return false;
    this.#state = state;
    return true;
  }

  push(text: string): string {
    return this.#push(text, text.length > longText && !this.#own.holdsHead(text));
  }

  pushWithout(text: string): string {
    return this.#push(text, true);
  }

  /** @param isWithout no head stands in the text: one may only begin before it, or go on behind it */
  #push(text: string, isWithout: boolean): string {
    const { finder, placeholder, longestHead } = this.#own;
    // Nearly every piece: no form needs to be followed through it.
    if (!isWithout && finder !== undefined && this.#isBetween(finder) && this.#enter(finder.after(this.#state, text)))
      return text;
    const given = this.#given ?? finder?.beginningOf(this.#state) ?? "";
    const isInside = this.#held !== "" || this.#replaced !== undefined;
    // A text of megabytes is not joined with anything, which would copy it.
    if (
      isWithout &&
      !isInside &&
      text.length >= 2 * longestHead &&
      !this.#own.holdsHead(given + text.slice(0, longestHead))
    )
      return this.#giveOut(text, 0);
    let rest = text;
    if (this.#replaced !== undefined) {
      const { whole, length } = this.#replaced;
      const more = sharedLength(rest, 0, whole, length);
      rest = rest.slice(more);
      this.#replaced = length + more < whole.length ? { whole, length: length + more } : undefined;
      if (rest === "") return "";
      this.#replaced = undefined;
    }
    let all = given + this.#held + rest;
    /** Where what was not given out yet begins. */
    let from = given.length;
    let out = "";
    for (let found = this.#own.find(all); found !== undefined; found = this.#own.find(all)) {
      const { at, whole, length } = found;
      out += all.slice(from, Math.max(from, at)) + placeholder;
      all = all.slice(at + length);
      from = 0;
      if (all === "" && length < whole.length) {
        this.#given = "";
        this.#held = "";
        this.#replaced = { whole, length };
        return out;
      }
    }
    return out + this.#giveOut(all, from);
  }

  /** Gives out a text from a place on, but for what may be the beginning of a form. */
  #giveOut(all: string, from: number): string {
    const cut = Math.max(from, all.length - this.#own.openLength(all));
    this.#held = all.slice(cut);
    this.#given = all.slice(Math.max(0, cut - this.#own.longestHead), cut);
    return all.slice(from, cut);
  }

  flush(): string {
    const rest = this.#held;
    this.#given = undefined;
    this.#held = "";
    this.#replaced = undefined;
    this.#state = 0;
    return rest;
  }
}

/** How many characters of a text from a place on are those of a form from another place on. */
function sharedLength(text: string, at: number, whole: string, from: number): number {
  let length = 0;
  while (from + length < whole.length && at + length < text.length && text[at + length] === whole[from + length])
    length++;
  return length;
}
