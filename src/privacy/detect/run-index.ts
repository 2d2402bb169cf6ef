import { nextMark, Pass } from "#privacy/passes/text-memory.ts";
import { markRunsCode } from "#privacy/passes/token-runs-code.ts";
import { PLUS, SLASH } from "#privacy/text/bytes.ts";
import { classes, inToken } from "#privacy/text/characters.ts";
import type { NormalizedText } from "#privacy/text/normalized-text.ts";
import { minRunLength } from "./tokens.ts";

/**
 * Calls back for each run of token characters that is long enough, from left to right.
 * @param visit gets where the run begins and ends; returns where to go on
 * @param visitSymbol gets the place of a `+` or `/` outside of these: of one at least in each stretch of base64 of 48 bytes and more that does
 *   not begin with such a run; returns where to go on (at least one byte further on)
 */
export function eachTokenRun(
  normalized: NormalizedText,
  visit: (from: number, to: number) => number,
  visitSymbol: (at: number) => number,
): void {
  const { memory } = normalized;
  const mark = memory === undefined ? undefined : markRuns.in(memory);
  if (memory === undefined || mark === undefined) {
    searchRuns(normalized, visit, visitSymbol);
    return;
  }
  const { bytes, length } = normalized;
  mark(memory.textAt, memory.textAt + length, memory.marksAt);
  let at = nextMark(memory.marks, 0, length);
  while (at < length) {
    const from =
      isSeparator[bytes[at] ?? 0] === 0 ? visitRun(normalized, at, at + minRunLength, visit) : visitSymbol(at);
    at = nextMark(memory.marks, from, length);
  }
}

/** @param known up to where the run that begins at `from` goes at least */
function visitRun(
  { bytes, length }: NormalizedText,
  from: number,
  known: number,
  visit: (from: number, to: number) => number,
): number {
  let to = known;
  while (to < length && isSeparator[bytes[to] ?? 0] === 0) to++;
  return Math.max(to, visit(from, to));
}

const markRuns = new Pass<(at: number, end: number, to: number) => number>("markRuns", markRunsCode);

/**
 * The same in JavaScript, for short texts and where there is no WebAssembly. Looks back from the byte where a run would end: where
 * something else stands in between, no run holds both sides of it. The next such byte is as far behind that, and what lies before is not
 * looked at.
 */
function searchRuns(
  normalized: NormalizedText,
  visit: (from: number, to: number) => number,
  visitSymbol: (at: number) => number,
): void {
  const { bytes, length } = normalized;
  /** Where the next run can begin. */
  let from = 0;
  for (let last = minRunLength - 1; last < length; last = from + minRunLength - 1) {
    let at = lastSeparatorOfEight(bytes, last);
    if (at < 0) {
      at = last - 8;
      while (at >= from && isSeparator[bytes[at] ?? 0] === 0) at--;
    }
    if (at >= from) {
      const c = bytes[at];
      from = c === PLUS || c === SLASH ? visitSymbol(at) : at + 1;
      continue;
    }
    from = visitRun(normalized, from, last + 1, visit);
  }
}

/** 1 for bytes that are no part of a token. */
const isSeparator = classes.map((bits) => ((bits & inToken) === 0 ? 1 : 0));

/**
 * The last separator among eight bytes that end at a place; -1 where there is none. Without a branch: where a word ends cannot be
 * foretold, and a wrong guess costs more than eight look-ups.
 */
function lastSeparatorOfEight(bytes: Uint8Array, last: number): number {
  const found =
    ((isSeparator[bytes[last] ?? 0] ?? 0) << 7) |
    ((isSeparator[bytes[last - 1] ?? 0] ?? 0) << 6) |
    ((isSeparator[bytes[last - 2] ?? 0] ?? 0) << 5) |
    ((isSeparator[bytes[last - 3] ?? 0] ?? 0) << 4) |
    ((isSeparator[bytes[last - 4] ?? 0] ?? 0) << 3) |
    ((isSeparator[bytes[last - 5] ?? 0] ?? 0) << 2) |
    ((isSeparator[bytes[last - 6] ?? 0] ?? 0) << 1) |
    (isSeparator[bytes[last - 7] ?? 0] ?? 0);
  return found === 0 ? -1 : last + 24 - Math.clz32(found);
}
