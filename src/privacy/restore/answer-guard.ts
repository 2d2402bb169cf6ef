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
  readonly longestStart: number;
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
    this.longestStart = Math.max(...starts.map(({ length }) => length));
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
    let out = text;
    for (const form of this.forms) out = withoutForm(out, form, this.placeholder);
    return out;
  }

  stream(): GuardedStream {
    return new KeyGuardStream(this);
  }
}

function withoutForm(text: string, { whole, head }: KeyForm, placeholder: string): string {
  let at = text.indexOf(head);
  if (at < 0) return text;
  let out = "";
  let from = 0;
  for (; at >= 0; at = text.indexOf(head, from)) {
    out += text.slice(from, at) + placeholder;
    from = at + head.length + sharedLength(text, at + head.length, whole, head.length);
  }
  return out + text.slice(from);
}

/** Each piece goes through the streams of all forms, one after the other. */
class KeyGuardStream implements GuardedStream {
  readonly #own: KeyGuard;
  /** Not there before a piece looks like the beginning of a form. */
  #streams: readonly FormStream[] | undefined;
  /** Without streams: what the text given out ends in. */
  #state = 0;
  /** With streams: the last characters given out. */
  #given = "";

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
    let state = this.#state;
    let at = from;
    let begin = from === 0 ? first : (ends[from - 1] ?? 0) + gap;
    for (; at < ends.length; at++) {
      const end = ends[at] ?? 0;
      const next = finder.afterJson(state, json, begin, end);
      if (next < 0) break;
      state = next;
      begin = end + gap;
    }
    this.#state = state;
    return at;
  }

  /** Whether nothing is held back or left out. Then what the text given out ends in is all that counts of it. */
  #isBetween(finder: StartFinder): boolean {
    if (this.#streams === undefined) return true;
    if (this.#streams.some((stream) => stream.isInside)) return false;
    this.#streams = undefined;
    this.#state = finder.stateOf(this.#given);
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

  /** @param isWithout no head stands in the text */
  #push(text: string, isWithout: boolean): string {
    const { forms, finder, placeholder } = this.#own;
    // Nearly every piece: no form needs to be followed through it.
    if (!isWithout && finder !== undefined && this.#isBetween(finder) && this.#enter(finder.after(this.#state, text)))
      return text;
    if (this.#streams === undefined) {
      const given = finder?.beginningOf(this.#state) ?? "";
      this.#given = given;
      this.#streams = forms.map((form) => new FormStream(form, placeholder, given));
    }
    let out = text;
    for (const stream of this.#streams) {
      // What one has held back or replaced may complete a head together with the text.
      out = isWithout && out === text ? stream.pushWithout(out) : stream.push(out);
    }
    const { longestStart } = this.#own;
    // A text of megabytes is not joined with anything, which would copy it.
    this.#given = (out.length >= longestStart ? out : this.#given + out).slice(1 - longestStart);
    return out;
  }

  flush(): string {
    let out = "";
    // What one has held goes through those behind it.
    for (const stream of this.#streams ?? []) out = (out === "" ? "" : stream.push(out)) + stream.flush();
    this.#streams = undefined;
    this.#state = 0;
    return out;
  }
}

/** Takes one form of the key out of a text that comes in pieces. */
class FormStream {
  readonly #form: KeyForm;
  readonly #placeholder: string;
  /** The last characters given out: the form may have begun in them. */
  #given: string;
  /** What may be the beginning of the form, together with the end of `given`. */
  #held = "";
  /** So much of the form was replaced; what follows of it is left out. 0: none. */
  #replaced = 0;

  constructor(form: KeyForm, placeholder: string, given: string) {
    this.#form = form;
    this.#placeholder = placeholder;
    this.#given = given;
  }

  /** Whether the last piece may have ended inside the form. */
  get isInside(): boolean {
    return this.#held !== "" || this.#replaced > 0;
  }

  push(text: string): string {
    const { whole, head } = this.#form;
    let rest = text;
    if (this.#replaced > 0) {
      const more = sharedLength(rest, 0, whole, this.#replaced);
      this.#replaced += more;
      rest = rest.slice(more);
      if (rest === "" && this.#replaced < whole.length) return "";
      this.#replaced = 0;
    }
    let all = this.#given + this.#held + rest;
    /** Where what was not given out yet begins. */
    let from = this.#given.length;
    let out = "";
    for (let at = all.indexOf(head); at >= 0; at = all.indexOf(head)) {
      out += all.slice(from, Math.max(from, at)) + this.#placeholder;
      const end = at + head.length + sharedLength(all, at + head.length, whole, head.length);
      if (end === all.length) {
        this.#given = "";
        this.#held = "";
        this.#replaced = end - at < whole.length ? end - at : 0;
        return out;
      }
      all = all.slice(end);
      from = 0;
    }
    const open = this.#openLength(all);
    const cut = Math.max(from, all.length - open);
    out += all.slice(from, cut);
    this.#held = all.slice(cut);
    this.#given = all.slice(Math.max(0, cut - head.length), cut);
    return out;
  }

  /** The same for a text in which no head stands: one may only begin before it, or go on behind it. */
  pushWithout(text: string): string {
    const { head } = this.#form;
    const begun = this.#held !== "" || this.#replaced > 0 || text.length < 2 * head.length;
    if (begun || (this.#given + text.slice(0, head.length)).includes(head)) return this.push(text);
    const cut = text.length - this.#openLength(text);
    this.#held = text.slice(cut);
    this.#given = text.slice(cut - head.length, cut);
    return text.slice(0, cut);
  }

  flush(): string {
    const rest = this.#held;
    this.#held = "";
    this.#given = "";
    this.#replaced = 0;
    return rest;
  }

  /** How much of the end of a text is a beginning of the form worth holding back. */
  #openLength(text: string): number {
    const { head, start } = this.#form;
    for (let length = Math.min(head.length - 1, text.length); length >= start.length; length--) {
      if (text.endsWith(head.slice(0, length))) return length;
    }
    return 0;
  }
}

/** How many characters of a text from a place on are those of a form from another place on. */
function sharedLength(text: string, at: number, whole: string, from: number): number {
  let length = 0;
  while (from + length < whole.length && at + length < text.length && text[at + length] === whole[from + length])
    length++;
  return length;
}
