import { type TokenRule, tokenRules } from "#privacy/rules/token-rules.ts";
import {
  byteSet,
  classes,
  DOUBLE_QUOTE,
  HYPHEN,
  inChain,
  inToken,
  isTokenByte,
  LOWER_T,
  matchEnd,
  PLUS,
  SLASH,
  UNDERSCORE,
} from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";
import { isDummyToken, isIdentifierShaped, isRandom, isWordsOnly, shapeOf } from "./randomness.ts";

/** How far before a run its token may begin. */
const maxLeadLength = 160;
/** Patterns tried inside one run; bounds the time a run of nothing but prefixes can take. */
const maxAttemptsPerRun = 48;

interface Candidate {
  readonly rule: TokenRule;
  readonly start: string;
  /** Sticky, start and body. */
  readonly pattern: RegExp;
  /** The start can be nothing else, even in the middle of a word: `ghp_`, `sk-ant-`. */
  readonly distinctive: boolean;
  /** The token goes on through base64 characters, not only token characters. */
  readonly base64: boolean;
  /** What follows the start may hold `_` and `-`, as the names of programs do. */
  readonly joinsWords: boolean;
}

/** By the first two characters, 7 bits each: what may begin there, the longest start first (`sk-ant-` before `sk-`). */
const buckets: (Candidate[] | undefined)[] = new Array(16_384).fill(undefined);
/** By pair: 0 where nothing begins, 2 where something does that is looked for in the middle of a word too. */
const prefixes = new Uint8Array(16_384);
const pairOf = (first: number, second: number) => ((first | second) < 128 ? (first << 7) | second : 0);

for (const rule of tokenRules) {
  for (const start of rule.starts) {
    const pair = pairOf(start.charCodeAt(0), start.charCodeAt(1));
    const bucket = buckets[pair] ?? [];
    buckets[pair] = bucket;
    if (prefixes[pair] !== 2) prefixes[pair] = isDistinctive(start) ? 2 : 1;
    bucket.push({
      rule,
      start,
      pattern: new RegExp(RegExp.escape(start) + rule.body, "y"),
      distinctive: isDistinctive(start),
      base64: rule.body.includes("+/"),
      joinsWords: /^(?!\\d).*(?:\\w|[_-]\])/.test(rule.body),
    });
    bucket.sort((a, b) => b.start.length - a.start.length);
  }
}

/** Where in a run a token is looked for. */
type RunPosition = "start" | "boundary" | "inside";

/** Finds the tokens of one text. */
export class TokenReader {
  readonly #normalized: NormalizedText;
  readonly #found: Span[];
  readonly #tokens = { from: 0, end: -1 };
  readonly #base64 = { from: 0, end: -1 };

  constructor(normalized: NormalizedText, found: Span[]) {
    this.#normalized = normalized;
    this.#found = found;
  }

  /**
   * Looks for a token that begins in, or shortly before, the run `[from, to)`.
   * @returns where the token found ends, so that no part of it is read again; `to` when there is none
   */
  readRun(from: number, to: number): number {
    const { bytes } = this.#normalized;
    const before = from > 0 ? (bytes[from - 1] ?? 0) : 0;
    if (((classes[before] ?? 0) & inChain) !== 0 || prefixSymbols[before] === 1) {
      const end = this.#readLead(from);
      if (end > from) return Math.max(end, to);
    }
    let attempts = 0;
    for (let at = from; at < to - 8; at++) {
      const pair = pairOf(bytes[at] ?? 0, bytes[at + 1] ?? 0);
      if (prefixes[pair] === 0) continue;
      // In the middle of a word only prefixes count that nothing else looks like.
      const place = at === from ? "start" : this.#isBoundary(at) ? "boundary" : "inside";
      if (place === "inside" && prefixes[pair] !== 2) continue;
      const end = this.#matchAny(at, buckets[pair] ?? [], place);
      if (end >= 0) return Math.max(end, to);
      if (++attempts > maxAttemptsPerRun) break;
    }
    return to;
  }

  /** Matches a token whose prefix ends before the run: `SG.` before `SG.…`, the number before `123456789:AA…`. */
  #readLead(run: number): number {
    const { bytes } = this.#normalized;
    const limit = Math.max(0, run - maxLeadLength);
    let piece = run;
    for (let at = run - 1; at >= limit; at--) {
      const c = bytes[at] ?? 0;
      const kind = classes[c] ?? 0;
      if ((kind & inChain) === 0 && prefixSymbols[c] === 0) break;
      if ((kind & inToken) !== 0 && run - at > 16 && piece - at >= 16) break; // a run of its own
      if ((kind & inToken) === 0) piece = at;
      const previous = at > 0 ? (classes[bytes[at - 1] ?? 0] ?? 0) : 0;
      if ((previous & kind & inToken) !== 0 && !isDiffRemoval(bytes, at - 1)) continue;
      const bucket = buckets[pairOf(c, bytes[at + 1] ?? 0)];
      const end = bucket === undefined ? -1 : this.#matchAny(at, bucket, "start");
      if (end > run) return end;
    }
    return -1;
  }

  #matchAny(at: number, bucket: readonly Candidate[], place: RunPosition): number {
    const { bytes, text } = this.#normalized;
    for (const candidate of bucket) {
      const { rule, start, pattern, base64, distinctive } = candidate;
      if (place === "inside" ? !distinctive : place === "boundary" && start.length < 3) continue;
      if (!text.startsWith(start, at)) continue;
      let end = matchEnd(pattern, text, at);
      if (end < 0) {
        end = distinctive && place !== "inside" ? this.#unknownShapeEnd(at, start) : -1;
        if (end < 0) continue;
      } else {
        if (!distinctive && !base64 && this.#isInsideBase64(at, end, start.length < 3)) continue;
        const goesOn = ((classes[bytes[end] ?? 0] ?? 0) & inToken) !== 0 && !this.#isHiddenBoundary(end);
        if (rule.exact === true && goesOn) continue;
        end = this.#tokenEnd(end, base64);
        if (!isToken(candidate, text.slice(at, end))) continue;
      }
      this.#found.push({ start: at, end, rule: rule.id });
      return end;
    }
    return -1;
  }

  /** Vendors change the shape behind a prefix of theirs: long and drawn, it counts all the same. Its end, or -1. */
  #unknownShapeEnd(at: number, start: string): number {
    if (wordPrefix.test(start)) return -1;
    const from = at + start.length;
    const end = this.#tokenEnd(from, false);
    if (end - from < 20) return -1;
    const body = this.#normalized.text.slice(from, Math.min(end, at + 400));
    const shape = shapeOf(body);
    return shape.digits >= 3 && isRandom(shape) && !isIdentifierShaped(body, shape) && !isDummyToken(body) ? end : -1;
  }

  /**
   * Where the characters of a token end: no suffix may stay behind, whatever its documented length. What was read for
   * one prefix is not read again for the next.
   * @param base64 whether `+`, `/` and `=` belong to it
   */
  #tokenEnd(from: number, base64: boolean): number {
    const { bytes } = this.#normalized;
    const last = base64 ? this.#base64 : this.#tokens;
    if (from >= last.from && from <= last.end) return last.end;
    const isPart = base64 ? isBase64Part : isTokenByte;
    let end = from;
    while (isPart[bytes[end] ?? 0] === 1) end++;
    last.from = from;
    last.end = end;
    return end;
  }

  /**
   * `+` or `/` before a place, and a character of base64 before that; the `+` of an added line stands alone. Addresses
   * hold tokens behind a `/` too: a longer prefix needs more of what stands before it to be data.
   */
  #isInsideBase64(at: number, end: number, short: boolean): boolean {
    const { bytes, text } = this.#normalized;
    if ((bytes[end] === SLASH || bytes[end] === PLUS) && isBase64Data(text.slice(end, end + surroundingBase64Length)))
      return true;
    if (at < 2 || (bytes[at - 1] !== SLASH && bytes[at - 1] !== PLUS)) return false;
    if (((classes[bytes[at - 2] ?? 0] ?? 0) & inChain) === 0) return false;
    if (text.slice(at, end).includes(":")) return false; // `/bot123456789:AA…` in an address
    return short || isBase64Data(text.slice(Math.max(0, at - surroundingBase64Length), at));
  }

  /** Behind `_`, `-`, something that cannot be seen, or `/bot`, as in addresses that hold a token. */
  #isBoundary(at: number): boolean {
    const { bytes, text } = this.#normalized;
    const before = bytes[at - 1];
    if (before === UNDERSCORE || before === HYPHEN || this.#isHiddenBoundary(at)) return true;
    return before === LOWER_T && text.startsWith("/bot", at - 4);
  }

  #isHiddenBoundary(at: number): boolean {
    return this.#normalized.hiddenBoundaries?.[at] === 1;
  }
}

/** Prefixes that are words: what follows them may be an id. */
const wordPrefix =
  /^(?:web|app|auto|ext|prod|admin|env|perm|key|dev|preview|post|dataset|default|standard|dynamic|data|ion|an|sc)[-_]/;

/** `ghp_`, `sk-ant-`: nothing else looks like that, not even in the middle of a word. */
function isDistinctive(start: string): boolean {
  return /^(?!live|test|access|secret|key|token|api|sdk|mob|rel|console).{3,}[-_]$/.test(start);
}

/** How much base64 has to stand before a prefix of three letters and more, so that it is taken for a part of that. */
const surroundingBase64Length = 32;

/** A run of base64, in contrast to a path. */
function isBase64Data(text: string): boolean {
  if (text.length < surroundingBase64Length || !/^[A-Za-z0-9+/]+$/.test(text)) return false;
  const shape = shapeOf(text);
  return (
    shape.upper >= 5 && shape.lower >= 3 && shape.classChanges * 4 >= text.length && !isIdentifierShaped(text, shape)
  );
}

/** The dash before a removed line of a diff, or an item of a list. */
function isDiffRemoval(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === HYPHEN && (at === 0 || (bytes[at - 1] ?? 0) <= DOUBLE_QUOTE);
}

/**
 * Whether what has the shape of a rule is a token. A vendor's own shape is one, also where somebody made it up; it must
 * look random only where other texts have the same shape.
 */
function isToken({ rule, start, joinsWords, distinctive }: Candidate, token: string): boolean {
  const body = token.slice(start.length, maxJudgedLength);
  if (isDummyToken(body) || isZeroFill(body)) return false;
  const shape = shapeOf(body);
  // `glpat-some-words`: a name of a program.
  if (rule.confidence !== "medium")
    return !joinsWords || !isWordsOnly(shape) || (distinctive && !/[_.-]/.test(body)) || noWord.test(body);
  // Drawn from more than sixteen characters, 24 of them never are digits of hex alone.
  if (body.length >= 24 && hexDigits.test(body) && !rule.body.includes("a-f")) return false;
  // 48 drawn characters nearly always hold a digit; behind a prefix that nothing else has, those without count too.
  if (body.length >= 48 && shape.digits === 0 && start.length < distinctiveLength) return false;
  return isRandom(shape) && !isIdentifierShaped(body, shape);
}

/** Prefixes from this length on, such as `sk-proj-`, identify a vendor; shorter ones occur in other texts too. */
const distinctiveLength = 5;

/** Whether zeros of binary data, in base64 or hex, make up most of a text. */
function isZeroFill(body: string): boolean {
  if (body.length < 24) return false;
  const zeros = body.length - body.replace(/[A0]/g, "").length;
  return zeros * 5 > body.length * 2;
}

/** More letters than a word has. */
const noWord = /[A-Za-z0-9]{36}/;
const hexDigits = /^(?:[0-9a-f-]+|[0-9A-F-]+)$/;

/** `$`, `^`, `#` and `*` occur in the prefixes of a few tokens, never in their bodies. */
const prefixSymbols = byteSet("$^#*");

/** What follows is judged with its prefix. */
const maxJudgedLength = 1_024;

const isBase64Part = isTokenByte.map((part, byte) => ("+/=".includes(String.fromCharCode(byte)) ? 1 : part));
