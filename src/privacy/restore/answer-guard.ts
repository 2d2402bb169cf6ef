import type { AnswerGuard, GuardedStream, JsonPieces } from "#privacy/redaction.ts";
import type { ExactValue } from "#privacy/rules/exact-values.ts";

/** Shorter keys stand in ordinary text, and so do those below the second length without a digit. */
const minKeyLength = 8;
const minWordlikeKeyLength = 16;

/** One way to write the key. */
interface KeyForm {
  readonly whole: string;
  /** A beginning this long is no coincidence: it is replaced, and as much of the rest as follows. */
  readonly head: string;
  /** A shorter beginning is given out before it is known how it goes on. */
  readonly start: string;
}

/** So many characters of the key are in a head, and in a start. */
const headLength = 16;
const startLength = 4;

/** Keeps a key that upstreams know, because every call carries it, out of their answers; undefined for keys that are ordinary words. */
export function createAnswerGuard({ rule, value }: ExactValue): AnswerGuard | undefined {
  if (value.length < minKeyLength || (value.length < minWordlikeKeyLength && !/[0-9]/.test(value))) return undefined;
  return new KeyGuard(value, `[REDACTED:${rule}:1]`);
}

class KeyGuard implements AnswerGuard {
  readonly placeholder: string;
  readonly forms: readonly KeyForm[];
  readonly anyStart: RegExp;
  /** Of what was given out, so many characters may be the beginning of a start. */
  readonly tailLength: number;
  readonly #anyHead: RegExp;
  /** Nobody writes it with escapes in JSON. */
  readonly #plain: boolean;
  /** What an escaped slash may hide. */
  readonly #hasSlash: boolean;

  constructor(key: string, placeholder: string) {
    this.placeholder = placeholder;
    this.forms = keyForms(key);
    this.anyStart = anyOf(this.forms.map(({ start }) => start));
    this.tailLength = Math.max(...this.forms.map(({ start }) => start.length)) - 1;
    this.#anyHead = anyOf(this.forms.map(({ head }) => head));
    this.#plain = /^[\w-]+$/.test(key);
    this.#hasSlash = this.forms.some(({ head }) => head.includes("/"));
  }

  mayContainKey(json: string): boolean {
    return !this.#plain || this.#anyHead.test(json) || (this.#hasSlash && json.includes("\\/"));
  }

  text(text: string): string {
    if (!this.#anyHead.test(text)) return text;
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
  /** The last characters given out, in which a form may have begun. */
  #tail = "";
  /** What may be the beginning of a form, together with the end of what was given out. */
  #held = "";
  /** The form of which so much was replaced; what follows of it is left out. */
  #replaced: { readonly whole: string; readonly length: number } | undefined;

  constructor(own: KeyGuard) {
    this.#own = own;
  }

  passUnchanged({ json, ends, first, gap }: JsonPieces, from: number): boolean {
    let begin = from === 0 ? first : (ends[from - 1] ?? 0) + gap;
    let text = "";
    for (let at = from; at < ends.length; at++) {
      const end = ends[at] ?? 0;
      text += json.slice(begin, end);
      begin = end + gap;
    }
    return this.#passes(text.includes("\\") ? String(JSON.parse(`"${text}"`)) : text);
  }

  /** Whether nothing is held back or left out, and no form may begin in a text, as in nearly all. */
  #passes(text: string): boolean {
    if (this.#held !== "" || this.#replaced !== undefined) return false;
    const all = this.#tail + text;
    if (this.#own.anyStart.test(all)) return false;
    this.#tail = all.slice(-this.#own.tailLength);
    return true;
  }

  push(text: string): string {
    if (this.#passes(text)) return text;
    let rest = text;
    if (this.#replaced !== undefined) {
      const { whole, length } = this.#replaced;
      const more = sharedLength(rest, 0, whole, length);
      rest = rest.slice(more);
      this.#replaced = length + more < whole.length ? { whole, length: length + more } : undefined;
      if (rest === "") return "";
      this.#replaced = undefined;
    }
    let all = this.#tail + this.#held + rest;
    /** Where what was not given out yet begins. */
    let from = this.#tail.length;
    let out = "";
    for (let found = this.#own.find(all); found !== undefined; found = this.#own.find(all)) {
      const { at, whole, length } = found;
      out += all.slice(from, Math.max(from, at)) + this.#own.placeholder;
      all = all.slice(at + length);
      from = 0;
      this.#tail = "";
      if (all === "" && length < whole.length) {
        this.#held = "";
        this.#replaced = { whole, length };
        return out;
      }
    }
    const cut = Math.max(from, all.length - this.#own.openLength(all));
    this.#held = all.slice(cut);
    this.#giveOut(all, cut);
    return out + all.slice(from, cut);
  }

  /** Notes the end of what was given out: what of a text stands before a place. */
  #giveOut(text: string, to: number): void {
    const { tailLength } = this.#own;
    this.#tail = (to < tailLength ? this.#tail + text.slice(0, to) : text.slice(to - tailLength, to)).slice(
      -tailLength,
    );
  }

  flush(): string {
    const rest = this.#held;
    this.#tail = "";
    this.#held = "";
    this.#replaced = undefined;
    return rest;
  }
}

function anyOf(texts: readonly string[]): RegExp {
  return new RegExp(texts.map((text) => RegExp.escape(text)).join("|"));
}

/** How many characters of a text from a place on are those of a form from another place on. */
function sharedLength(text: string, at: number, whole: string, from: number): number {
  let length = 0;
  while (from + length < whole.length && at + length < text.length && text[at + length] === whole[from + length])
    length++;
  return length;
}

/**
 * The key as it is, percent-encoded, in hexadecimal, and in base64 of both alphabets: on its own, or behind one or two bytes of
 * another text, such as `Bearer `, which shift it. Not reversed or spelled out: there is no end of what a model can be asked to do.
 */
export function keyForms(key: string): readonly KeyForm[] {
  const hex = Buffer.from(key).toString("hex");
  const forms = new Map<string, KeyForm>();
  const add = (whole: string, charactersEach: number) => {
    const upTo = (characters: number) => whole.slice(0, Math.floor(characters * charactersEach));
    forms.set(whole, { whole, head: upTo(headLength), start: upTo(startLength) });
  };
  for (const shift of [0, 1, 2]) {
    for (const alphabet of ["base64", "base64url"] as const) add(base64Behind(key, shift, alphabet), 4 / 3);
  }
  for (const digits of [hex, hex.toUpperCase()]) add(digits, 2);
  add(encodeURIComponent(key), 1);
  add(key, 1);
  return [...forms.values()];
}

/** Base64 of a key behind so many bytes, without the characters at both ends that other bytes have a part in. */
function base64Behind(key: string, bytes: number, alphabet: "base64" | "base64url"): string {
  const encoded = Buffer.concat([Buffer.alloc(bytes), Buffer.from(key)]).toString(alphabet);
  const whole = Math.floor(((bytes + Buffer.byteLength(key)) * 8) / 6);
  return encoded.slice(Math.ceil((bytes * 8) / 6), whole);
}
