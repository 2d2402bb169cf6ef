import type { AnswerGuard, GuardedStream } from "#privacy/redaction.ts";
import type { ExactValue } from "#privacy/rules/exact-values.ts";

/** A beginning of the key this long is no coincidence: what looks like the rest of it goes too, also where it was cut off. */
const minReplacedLength = 16;
/** Fewer characters of its beginning are given out before it is known how they go on. */
const minHeldLength = 4;
/** Shorter keys stand in ordinary text. */
const minKeyLength = 8;

/** Keeps a key that upstreams know, because every call carries it, out of their answers; undefined for keys that are ordinary words. */
export function createAnswerGuard({ rule, value }: ExactValue): AnswerGuard | undefined {
  if (value.length < minKeyLength || (value.length < minReplacedLength && !/[0-9]/.test(value))) return undefined;
  return new KeyGuard(value, `[REDACTED:${rule}:1]`);
}

class KeyGuard implements AnswerGuard {
  readonly key: string;
  readonly placeholder: string;
  /** The shortest beginning that is replaced. */
  readonly head: string;
  /** The shortest beginning that is held back. */
  readonly start: string;
  /** Nobody writes it with escapes in JSON. */
  readonly #plain: boolean;

  constructor(key: string, placeholder: string) {
    this.key = key;
    this.placeholder = placeholder;
    this.head = key.slice(0, minReplacedLength);
    this.start = key.slice(0, minHeldLength);
    this.#plain = /^[\w-]+$/.test(key);
  }

  mayContainKey(json: string): boolean {
    return !this.#plain || json.includes(this.head);
  }

  text(text: string): string {
    let at = text.indexOf(this.head);
    if (at < 0) return text;
    let out = "";
    let from = 0;
    for (; at >= 0; at = text.indexOf(this.head, from)) {
      out += text.slice(from, at) + this.placeholder;
      from = at + this.head.length + sharedLength(text, at + this.head.length, this.key, this.head.length);
    }
    return out + text.slice(from);
  }

  stream(): GuardedStream {
    return new KeyGuardStream(this);
  }
}

class KeyGuardStream implements GuardedStream {
  readonly #own: KeyGuard;
  /** The last characters given out: the key may have begun in them. */
  #given = "";
  /** What may be the beginning of the key, together with the end of `given`. */
  #held = "";
  /** So much of the key was replaced; what follows of it is left out. 0: none. */
  #replaced = 0;

  constructor(own: KeyGuard) {
    this.#own = own;
  }

  passesUnchanged(contentJson: string): boolean {
    if (this.#held !== "" || this.#replaced > 0) return false;
    const content = contentJson.includes("\\") ? String(JSON.parse(`"${contentJson}"`)) : contentJson;
    const all = this.#given + content;
    if (all.includes(this.#own.start)) return false;
    this.#given = all.slice(1 - minHeldLength);
    return true;
  }

  push(text: string): string {
    const { key, head, placeholder } = this.#own;
    let rest = text;
    if (this.#replaced > 0) {
      const more = sharedLength(rest, 0, key, this.#replaced);
      this.#replaced += more;
      rest = rest.slice(more);
      if (rest === "" && this.#replaced < key.length) return "";
      this.#replaced = 0;
    }
    let all = this.#given + this.#held + rest;
    /** Where what was not given out yet begins. */
    let from = this.#given.length;
    let out = "";
    for (let at = all.indexOf(head); at >= 0; at = all.indexOf(head)) {
      out += all.slice(from, Math.max(from, at)) + placeholder;
      const end = at + head.length + sharedLength(all, at + head.length, key, head.length);
      if (end === all.length) {
        this.#given = "";
        this.#held = "";
        this.#replaced = end - at < key.length ? end - at : 0;
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

  flush(): string {
    const rest = this.#held;
    this.#held = "";
    this.#given = "";
    this.#replaced = 0;
    return rest;
  }

  /** How much of the end of a text is a beginning of the key worth holding back. */
  #openLength(text: string): number {
    const { head } = this.#own;
    for (let length = Math.min(head.length - 1, text.length); length >= minHeldLength; length--) {
      if (text.endsWith(head.slice(0, length))) return length;
    }
    return 0;
  }
}

/** How many characters of a text from a place on are those of the key from another place on. */
function sharedLength(text: string, at: number, key: string, from: number): number {
  let length = 0;
  while (from + length < key.length && at + length < text.length && text[at + length] === key[from + length]) length++;
  return length;
}
