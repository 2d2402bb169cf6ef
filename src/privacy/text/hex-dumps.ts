import { DIGIT_0, DIGIT_9, LF, LOWER_A, LOWER_F, SPACE, TAB, UPPER_A, UPPER_F } from "./bytes.ts";
import type { NormalizedText } from "./normalized-text.ts";

/** Bytes that a program such as `xxd` or `hexdump -C` shows in lines of hex, put together again. */
export interface HexDump {
  /** As ISO-8859-1. */
  readonly text: string;
  /** Where in `text` the bytes of each line begin. */
  readonly lineStarts: readonly number[];
  /** Line by line, the range of the hex and the characters beside it in the text that was scanned. */
  readonly lineRanges: readonly { readonly start: number; readonly end: number }[];
}

/** Bytes that are put together from one text. */
const maxDumpBytes = 262_144;
/** Longest line: `xxd -c 64` with its characters. */
const maxLineLength = 300;
/** Fewer bytes hold no credential; a line with so many is at least so long. */
const minDumpBytes = 16;
const minLineLength = 42;

/**
 * An offset, pairs of hex in groups, and the characters that they stand for. `xxd` sets those apart by two blanks, which `hexdump`
 * has in the middle of the hex too.
 */
const ofXxd = /[ \t]{0,8}[0-9a-fA-F]{8}(: )((?:[0-9a-fA-F]{2} ?){1,64})(?![0-9a-fA-F])[^\n]{0,160}/y;
const ofHexdump = /[ \t]{0,8}[0-9a-fA-F]{8}( {2})((?:[0-9a-fA-F]{2} {1,2}){1,32})(?![0-9a-fA-F])[^\n]{0,160}/y;

const dumpFormats: readonly (readonly [string, RegExp])[] = [
  ["0: ", ofXxd],
  ["0  ", ofHexdump],
];

/** The dumps in a text. Runs for every text: two searches for the bytes that follow an offset rule out all but a few. */
export function findHexDumps(normalized: NormalizedText): HexDump[] {
  const dumps: HexDump[] = [];
  if (normalized.length < minLineLength) return dumps;
  let budget = maxDumpBytes;
  // Bytes are searched many times as fast as text.
  const bytes = normalized.bytes.subarray(0, normalized.length);
  for (const [mark, line] of dumpFormats) {
    let readTo = 0;
    for (let at = bytes.indexOf(mark); at >= 0 && budget > 0; at = bytes.indexOf(mark, Math.max(at + 1, readTo))) {
      if (!isOffset(normalized.bytes, at)) continue;
      const dump = dumpAt(normalized, line, lineStart(normalized.bytes, at - 7), budget);
      if (dump === undefined) continue;
      readTo = dump.end;
      budget -= dump.text.length;
      if (dump.text.length >= minDumpBytes) dumps.push(dump);
    }
  }
  return dumps;
}

/** Whether the digit at a place is the last of eight that begin a line. */
function isOffset(bytes: Uint8Array, at: number): boolean {
  for (let i = at - 7; i < at; i++) if (i < 0 || !isHex(bytes[i] ?? 0)) return false;
  const start = lineStart(bytes, at - 7);
  return start === 0 || bytes[start - 1] === LF;
}

/** Where the blanks before a place begin. */
function lineStart(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at > 0 && at > from - 8 && (bytes[at - 1] === SPACE || bytes[at - 1] === TAB)) at--;
  return at;
}

function dumpAt(
  normalized: NormalizedText,
  line: RegExp,
  from: number,
  budget: number,
): (HexDump & { readonly end: number }) | undefined {
  const { text, sourceOffsets } = normalized;
  const lineRanges: { start: number; end: number }[] = [];
  const lineStarts: number[] = [];
  const pieces: string[] = [];
  let length = 0;
  let at = from;
  while (length < budget) {
    line.lastIndex = at;
    const match = line.exec(text);
    const digits = match?.[2]?.replaceAll(" ", "");
    if (match === null || digits === undefined || match[0].length > maxLineLength) break;
    const start = at + match[0].indexOf(match[1] ?? "") + (match[1]?.length ?? 0);
    let end = line.lastIndex;
    while (end > start && (text.charCodeAt(end - 1) <= SPACE || text[end - 1] === "|")) end--;
    const bytes = Buffer.from(digits, "hex").toString("latin1");
    lineStarts.push(length);
    lineRanges.push({ start: sourceOffsets?.at(start) ?? start, end: sourceOffsets?.at(end) ?? end });
    pieces.push(bytes);
    length += bytes.length;
    at = line.lastIndex;
    if (text.charCodeAt(at) !== LF) break;
    at++;
  }
  return pieces.length === 0 ? undefined : { text: pieces.join(""), lineStarts, lineRanges, end: at };
}

function isHex(c: number): boolean {
  return (c >= DIGIT_0 && c <= DIGIT_9) || (c >= LOWER_A && c <= LOWER_F) || (c >= UPPER_A && c <= UPPER_F);
}
