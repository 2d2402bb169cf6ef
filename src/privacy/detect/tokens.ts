import { type TokenRule, tokenRules } from "#privacy/rules/token-rules.ts";
import { classes, inChain, inToken, isDigit } from "#privacy/text/characters.ts";
import type { View } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { crc32Base62 } from "./checksums.ts";
import { isNamed } from "./values/identifiers.ts";
import { isRandom, isWords, shapeOf } from "./values/randomness.ts";

/** Shortest run of token characters that is looked at; every rule's token holds one. */
export const shortestRun = 16;
/** How far before a run its token may begin. */
const longestLead = 160;
/** Patterns tried inside one run; bounds the time a run of nothing but beginnings can take. */
const attemptsPerRun = 48;

interface Candidate {
  readonly rule: TokenRule;
  readonly start: string;
  /** The third character of the start, 0 where it has none: the first thing that is compared. */
  readonly third: number;
  /** Sticky, start and body. */
  readonly pattern: RegExp;
  /** The start can be nothing else, even in the middle of a word: `ghp_`, `sk-ant-`. */
  readonly unmistakable: boolean;
  /** The token goes on through base64 characters, not only token characters. */
  readonly base64: boolean;
}

/** Finds credentials that can be recognised by themselves. */
export class Tokens {
  /** By the first two characters, 7 bits each: 1 + index into `#buckets`; 0 for none. */
  readonly #dispatch = new Uint16Array(16_384);
  readonly #buckets: Candidate[][] = [];
  /** By the first two characters: whether a token with that beginning is looked for in the middle of a word. */
  readonly #anywhere = new Uint8Array(16_384);

  readonly #switchedOff: string[] = [];

  constructor(disabled: ReadonlySet<string>) {
    for (const rule of tokenRules) {
      if (disabled.has(rule.id)) {
        this.#switchedOff.push(...rule.starts);
        continue;
      }
      for (const start of rule.starts) this.#add(rule, start);
    }
    // The longest start first, so that `sk-ant-` is asked before `sk-`.
    for (const bucket of this.#buckets) bucket.sort((a, b) => b.start.length - a.start.length);
  }

  /** Whether a run begins like the tokens of a rule that is switched off: no general rule may find them either. */
  isSwitchedOff(view: View, from: number): boolean {
    return this.#switchedOff.some((start) => view.text.startsWith(start, from));
  }

  #add(rule: TokenRule, start: string) {
    const key = (start.charCodeAt(0) << 7) | start.charCodeAt(1);
    let index = this.#dispatch[key] ?? 0;
    if (index === 0) {
      this.#buckets.push([]);
      index = this.#buckets.length;
      this.#dispatch[key] = index;
    }
    const unmistakable = isUnmistakable(start);
    if (unmistakable) this.#anywhere[key] = 1;
    this.#buckets[index - 1]?.push({
      rule,
      start,
      third: start.length > 2 ? start.charCodeAt(2) : 0,
      pattern: new RegExp(start.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&") + rule.body, "y"),
      unmistakable,
      base64: rule.body.includes("+/"),
    });
  }

  /**
   * Looks for a token that begins in, or shortly before, the run `[from, to)`.
   * @returns where the token found ends, so that no part of it is read again; `to` when there is none
   */
  scanRun(view: View, from: number, to: number, found: Span[]): number {
    const { bytes } = view;
    const before = from > 0 ? (bytes[from - 1] ?? 0) : 0;
    if (((classes[before] ?? 0) & inChain) !== 0 || isLeadOnly(before)) {
      const end = this.#scanLead(view, from, found);
      if (end > from) return Math.max(end, to);
    }
    let attempts = 0;
    for (let at = from; at < to - 8; at++) {
      const first = bytes[at] ?? 0;
      const second = bytes[at + 1] ?? 0;
      if (second >= 128) continue;
      const pair = (first << 7) | second;
      const index = this.#dispatch[pair] ?? 0;
      if (index === 0) continue;
      // In the middle of a word only beginnings count that nothing else looks like.
      const place = at === from ? atStart : isBoundary(view, at) ? atBoundary : inside;
      if (place === inside && this.#anywhere[pair] === 0) continue;
      const bucket = this.#buckets[index - 1];
      if (bucket === undefined) continue;
      const end = this.#match(view, at, bucket, place, found);
      if (end >= 0) return Math.max(end, to);
      if (place !== inside && ++attempts > attemptsPerRun) break;
    }
    return Math.max(this.#behindEscape(view, from, found), to);
  }

  /**
   * A backslash or a percent sign before a token may take its first letter into an escape sequence: `\` and `npm_…`, `%3` and
   * `dop_…`. The token is then looked for with that letter.
   */
  #behindEscape(view: View, from: number, found: Span[]): number {
    const { origin, source, bytes } = view;
    if (origin === undefined || from === 0) return -1;
    const at = (origin[from] ?? 0) - 1;
    if (at === origin[from - 1]) return -1;
    const letter = source.charCodeAt(at);
    if (this.#bucketOf(letter, bytes[from] ?? 0) === undefined) return -1;
    const token = this.matchAlone(String.fromCharCode(letter) + view.text.slice(from, from + longestEscaped));
    if (token === undefined) return -1;
    const end = restOf(bytes, from + token.length - 1, false);
    found.push({ start: from, end, rule: token.rule });
    return end;
  }

  /** The token that a text of its own begins with. */
  matchAlone(text: string): { readonly rule: string; readonly length: number } | undefined {
    for (const { rule, start, pattern } of this.#bucketOf(text.charCodeAt(0), text.charCodeAt(1)) ?? []) {
      if (!text.startsWith(start)) continue;
      pattern.lastIndex = 0;
      if (!pattern.test(text)) continue;
      const length = pattern.lastIndex;
      if (isToken(rule, text.slice(0, length), start)) return { rule: rule.id, length };
    }
    return undefined;
  }

  /** The pieces that lead up to a run: `SG.` before `SG.…`, the number before `123456789:AA…`. */
  #scanLead(view: View, run: number, found: Span[]): number {
    const { bytes } = view;
    const limit = Math.max(0, run - longestLead);
    let at = run;
    let piece = run;
    while (at > limit) {
      const c = bytes[at - 1] ?? 0;
      const kind = classes[c] ?? 0;
      if ((kind & inChain) === 0 && !isLeadOnly(c)) break;
      at--;
      if ((kind & inToken) !== 0 && run - at > shortestRun && piece - at >= shortestRun) break; // a run of its own
      if ((kind & inToken) === 0) piece = at;
      const previous = at > 0 ? (classes[bytes[at - 1] ?? 0] ?? 0) : 0;
      if ((previous & inToken) !== 0 && (kind & inToken) !== 0 && !isRemoved(bytes, at - 1)) continue;
      const bucket = this.#bucketAt(bytes, at);
      if (bucket === undefined) continue;
      const end = this.#match(view, at, bucket, atStart, found);
      if (end > run) return end;
    }
    return -1;
  }

  #bucketAt(bytes: Uint8Array, at: number): readonly Candidate[] | undefined {
    return this.#bucketOf(bytes[at] ?? 0, bytes[at + 1] ?? 0);
  }

  #bucketOf(first: number, second: number): readonly Candidate[] | undefined {
    if (first >= 128 || second >= 128) return undefined;
    const index = this.#dispatch[(first << 7) | second] ?? 0;
    return index === 0 ? undefined : this.#buckets[index - 1];
  }

  #match(view: View, at: number, bucket: readonly Candidate[], place: Place, found: Span[]): number {
    const third = view.bytes[at + 2];
    for (const { rule, start, third: wanted, pattern, base64, unmistakable } of bucket) {
      if (wanted !== 0 && wanted !== third) continue;
      if (place === inside ? !unmistakable : place === atBoundary && start.length < 3) continue;
      if (!view.text.startsWith(start, at)) continue;
      pattern.lastIndex = at;
      if (!pattern.test(view.text)) {
        const end = unmistakable && place !== inside ? unknownShapeEnd(view, at, start) : -1;
        if (end < 0) continue;
        found.push({ start: at, end, rule: rule.id });
        return end;
      }
      let end = pattern.lastIndex;
      if (!unmistakable && !base64 && isAmidBase64(view, at, end, start.length < 3)) continue;
      const next = view.bytes[end] ?? 0;
      if (rule.exact === true && ((classes[next] ?? 0) & inToken) !== 0 && !isJoint(view, end)) continue;
      end = restOf(view.bytes, end, base64);
      if (!isToken(rule, view.text.slice(at, end), start)) continue;
      found.push({ start: at, end, rule: rule.id });
      return end;
    }
    return -1;
  }
}

/** Beginnings that are words: what follows them may be an id. */
const wordStart =
  /^(?:web|app|auto|ext|prod|admin|env|perm|key|dev|preview|post|dataset|default|standard|dynamic|data|ion|an|sc)[-_]/;

/**
 * Vendors change the shape of what follows a beginning that is theirs alone. Where it is long and drawn, it counts all the same.
 * @returns its end, or -1
 */
function unknownShapeEnd(view: View, at: number, start: string): number {
  if (wordStart.test(start)) return -1;
  const end = restOf(view.bytes, at + start.length, false);
  if (end - at - start.length < 20) return -1;
  const body = view.text.slice(at + start.length, Math.min(end, at + 400));
  const shape = shapeOf(body);
  return shape.digits >= 3 && isRandom(shape) && !isNamed(body, shape) && !isStandInToken(body) ? end : -1;
}

/** `ghp_`, `sk-ant-`: nothing else looks like that, not even in the middle of a word. */
function isUnmistakable(start: string): boolean {
  return (
    start.length >= 4 &&
    /[-_]$/.test(start) &&
    !/^(?:live|test|access|secret|key|token|api|sdk|mob|rel|console)/.test(start)
  );
}

/** Where in a run a token is looked for. */
type Place = typeof atStart | typeof atBoundary | typeof inside;
const atStart = 0;
const atBoundary = 1;
const inside = 2;

/** Longest token that is read behind what looks like an escape sequence. */
const longestEscaped = 512;

/** How much base64 has to stand before a beginning of three letters and more, so that it is taken for a part of that. */
const amidData = 32;

/**
 * `+` or `/` before a place, and a character of base64 before that; the `+` of an added line stands alone. Addresses hold tokens
 * behind a `/` too: a beginning that says something needs more of what stands before it to be data.
 */
function isAmidBase64({ bytes, text }: View, at: number, end: number, short: boolean): boolean {
  if ((bytes[end] === 0x2f || bytes[end] === 0x2b) && isData(text.slice(end, end + amidData))) return true;
  if (at < 2 || (bytes[at - 1] !== 0x2f && bytes[at - 1] !== 0x2b)) return false;
  if (((classes[bytes[at - 2] ?? 0] ?? 0) & inChain) === 0) return false;
  if (text.slice(at, end).includes(":")) return false; // `/bot123456789:AA…` in an address
  if (short) return true;
  return isData(text.slice(Math.max(0, at - amidData), at));
}

/** A stretch of base64, in contrast to a path. */
function isData(text: string): boolean {
  if (text.length < amidData || !/^[A-Za-z0-9+/]+$/.test(text)) return false;
  const shape = shapeOf(text);
  return shape.upper >= 5 && shape.lower >= 3 && shape.changes * 4 >= text.length && !isNamed(text, shape);
}

/** The dash before a removed line of a diff, or an item of a list. */
function isRemoved(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0x2d && (at === 0 || (bytes[at - 1] ?? 0) <= 0x22);
}

/** `/bot`, as in addresses that hold a token. */
function isBotPath(bytes: Uint8Array, at: number): boolean {
  return bytes[at - 2] === 0x6f && bytes[at - 3] === 0x62 && bytes[at - 4] === 0x2f;
}

function isBoundary(view: View, at: number): boolean {
  const before = view.bytes[at - 1];
  return before === 0x5f || before === 0x2d || isJoint(view, at) || (before === 0x74 && isBotPath(view.bytes, at));
}

/** Whether what has the shape of a rule is a token, and no stand-in or name. */
function isToken(rule: TokenRule, token: string, start: string): boolean {
  if (rule.checksum !== undefined && crc32Base62(token)) return true;
  const body = token.slice(start.length);
  if (isStandInToken(body) || isFiller(body)) return false;
  const shape = shapeOf(body);
  if (rule.confidence !== "medium") return !isWords(shape);
  // Drawn from more than sixteen characters, 24 of them never are digits of hex alone.
  if (body.length >= 24 && hexDigits.test(body) && !rule.body.includes("a-f")) return false;
  // 48 drawn characters nearly always hold a digit; behind a beginning that nothing else has, the rare ones without count too.
  if (body.length >= 48 && shape.digits === 0 && start.length < distinctStart) return false;
  return isRandom(shape) && !isNamed(body, shape);
}

/** Beginnings from this length on, such as `sk-proj-`, say what follows; shorter ones stand in other texts too. */
const distinctStart = 5;

/** Whether zeros of binary data, in base64 or hex, make up most of a text. */
function isFiller(body: string): boolean {
  let zeros = 0;
  for (let i = 0; i < body.length; i++) if (body.charCodeAt(i) === 0x41 || body.charCodeAt(i) === 0x30) zeros++;
  return body.length >= 24 && zeros * 5 > body.length * 2;
}

const hexDigits = /^(?:[0-9a-f]+|[0-9A-F]+)$/;

/** No suffix of a token may stay behind, whatever its documented length. */
export function restOf(bytes: Uint8Array, from: number, base64: boolean): number {
  let end = from;
  for (;;) {
    const c = bytes[end] ?? 0;
    if (((classes[c] ?? 0) & inToken) === 0 && !(base64 && (c === 0x2b || c === 0x2f || c === 0x3d))) return end;
    end++;
  }
}

function isJoint(view: View, at: number): boolean {
  return view.joints?.[at] === 1;
}

/** `$`, `^`, `#` and `*` stand in the beginnings of a few tokens, never in their bodies. */
function isLeadOnly(c: number): boolean {
  return c === 0x24 || c === 0x5e || c === 0x23 || c === 0x2a;
}

const standIns =
  /x{5}|X{5}|\*{3}|\.{3}|0{9}|123456789|abcdefgh|ABCDEFGH|EXAMPLE|example|laceholder|LACEHOLDER|(?:your|YOUR)[-_]|REDACTED|redacted/;

/** Whether a token is one of those that documentation and tests show instead of a real one. */
function isStandInToken(token: string): boolean {
  return standIns.test(token);
}

/** Whether a run can hold anything at all beside words. */
export function hasDigit(bytes: Uint8Array, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (((classes[bytes[i] ?? 0] ?? 0) & isDigit) !== 0) return true;
  return false;
}
