import { classes, inChain, inToken, isDigit } from "./characters.ts";
import { crc32Base62 } from "./checksums.ts";
import { looksRandom } from "./randomness.ts";
import { type TokenRule, tokenRules } from "./rules/token-rules.ts";
import type { Span } from "./spans.ts";
import type { View } from "./view.ts";

/** Shortest run of token characters that is looked at; every rule's token holds one. */
export const shortestRun = 16;
/** How far before a run its token may begin. */
const longestLead = 160;
/** Patterns tried inside one run; bounds the time a run of nothing but beginnings can take. */
const attemptsPerRun = 48;

interface Candidate {
  readonly rule: TokenRule;
  readonly start: string;
  /** Sticky, start and body. */
  readonly pattern: RegExp;
  /** The token goes on through base64 characters, not only token characters. */
  readonly base64: boolean;
}

/** Finds credentials that can be recognised by themselves. */
export class Tokens {
  /** By the first two characters, 7 bits each: 1 + index into `#buckets`; 0 for none. */
  readonly #dispatch = new Uint16Array(16_384);
  readonly #buckets: Candidate[][] = [];

  constructor(disabled: ReadonlySet<string>) {
    for (const rule of tokenRules) {
      if (disabled.has(rule.id)) continue;
      for (const start of rule.starts) this.#add(rule, start);
    }
    // The longest start first, so that `sk-ant-` is asked before `sk-`.
    for (const bucket of this.#buckets) bucket.sort((a, b) => b.start.length - a.start.length);
  }

  #add(rule: TokenRule, start: string) {
    const key = (start.charCodeAt(0) << 7) | start.charCodeAt(1);
    let index = this.#dispatch[key] ?? 0;
    if (index === 0) {
      this.#buckets.push([]);
      index = this.#buckets.length;
      this.#dispatch[key] = index;
    }
    this.#buckets[index - 1]?.push({
      rule,
      start,
      pattern: new RegExp(start.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&") + rule.body, "y"),
      base64: rule.body.includes("+/"),
    });
  }

  /**
   * Looks for a token that begins in, or shortly before, the run `[from, to)`.
   * @returns where the token found ends, so that no part of it is read again; `to` when there is none
   */
  scanRun(view: View, from: number, to: number, found: Span[]): number {
    const { bytes } = view;
    const before = from > 0 ? (classes[bytes[from - 1] ?? 0] ?? 0) : 0;
    if ((before & inChain) !== 0 || (from > 0 && isLeadOnly(bytes[from - 1] ?? 0))) {
      const end = this.#scanLead(view, from, found);
      if (end > from) return Math.max(end, to);
    }
    let attempts = 0;
    for (let at = from; at < to - 8; at++) {
      if (at > from) {
        const previous = bytes[at - 1];
        if (previous !== 0x5f && previous !== 0x2d && !isJoint(view, at)) continue;
      }
      const bucket = this.#bucketAt(bytes, at);
      if (bucket === undefined) continue;
      const end = this.#match(view, at, bucket, at > from ? 3 : 2, found);
      if (end >= 0) return Math.max(end, to);
      if (++attempts > attemptsPerRun) break;
    }
    return to;
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
      if ((previous & inToken) !== 0 && (kind & inToken) !== 0) continue;
      const bucket = this.#bucketAt(bytes, at);
      if (bucket === undefined) continue;
      const end = this.#match(view, at, bucket, 2, found);
      if (end > run) return end;
    }
    return -1;
  }

  #bucketAt(bytes: Uint8Array, at: number): readonly Candidate[] | undefined {
    const first = bytes[at] ?? 0;
    const second = bytes[at + 1] ?? 0;
    if (first >= 128 || second >= 128) return undefined;
    const index = this.#dispatch[(first << 7) | second] ?? 0;
    return index === 0 ? undefined : this.#buckets[index - 1];
  }

  #match(view: View, at: number, bucket: readonly Candidate[], shortestStart: number, found: Span[]): number {
    for (const { rule, start, pattern, base64 } of bucket) {
      if (start.length < shortestStart || !view.text.startsWith(start, at)) continue;
      pattern.lastIndex = at;
      if (!pattern.test(view.text)) continue;
      let end = pattern.lastIndex;
      const next = view.bytes[end] ?? 0;
      if (rule.exact === true && ((classes[next] ?? 0) & inToken) !== 0 && !isJoint(view, end)) continue;
      end = restOf(view.bytes, end, base64);
      const token = view.text.slice(at, end);
      if (rule.checksum === undefined || !crc32Base62(token)) {
        if (isStandInToken(token)) continue;
        if (rule.confidence === "medium" && !looksRandom(token.slice(start.length))) continue;
      }
      found.push({ start: at, end, rule: rule.id });
      return end;
    }
    return -1;
  }
}

/** No suffix of a token may stay behind, whatever its documented length. */
function restOf(bytes: Uint8Array, from: number, base64: boolean): number {
  let end = from;
  for (;;) {
    const c = bytes[end] ?? 0;
    if (((classes[c] ?? 0) & inToken) === 0 && !(base64 && (c === 0x2b || c === 0x2f || c === 0x3d))) return end;
    end++;
  }
}

function isJoint(view: View, at: number): boolean {
  return view.joints.length > 0 && view.joints.includes(at);
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
