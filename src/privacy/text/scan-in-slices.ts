import { maxSecrets, TooManySecrets } from "#privacy/redaction.ts";
import { mergeSpans, type Scan, type Span } from "./spans.ts";

/** Longest text that is scanned at once, in UTF-16 units: with its surroundings below 100 ms, whatever it holds. */
export const sliceLength = 131_072;
/**
 * How much of the text before and behind a slice is read with it: more than any rule looks around itself (the 200 lines
 * of 400 characters of a table, 64 KiB of base64), so that a scan of the slice finds what a scan of the whole would.
 */
const surroundingLength = 98_304;
/** A secret that ends this close to the end of what was read may go on: its last line may be cut. */
const maxLineLength = 4_096;
/** Then more is read, up to this length. */
const maxSecretLength = 1_048_576;

/**
 * The secrets in a text of any length; `tick` is awaited before so many characters are read, so that others are served
 * in between. Rejects with `TooManySecrets` beyond `maxSecrets`.
 */
export async function scanInSlices(
  text: string,
  scan: Scan,
  tick: (length: number) => Promise<void>,
): Promise<readonly Span[]> {
  if (text.length <= sliceLength) {
    await tick(text.length);
    return scan(text);
  }
  const found: Span[] = [];
  for (let from = 0; from < text.length; from += sliceLength) {
    for (let behind = surroundingLength; ; behind *= 4) {
      const to = Math.min(text.length, from + sliceLength + behind);
      await tick(to - from);
      const spans = spansOfSlice(text, scan, from, to);
      const isCut = to < text.length && spans.some(({ end }) => end > to - maxLineLength);
      if (isCut && behind < maxSecretLength) continue;
      for (const span of spans) found.push(span);
      if (found.length > maxSecrets) throw new TooManySecrets();
      break;
    }
  }
  return mergeSpans(found);
}

/** What begins in the slice at `from`, read with the text before it and up to `to`. Each secret begins in one slice. */
function spansOfSlice(text: string, scan: Scan, from: number, to: number): Span[] {
  const start = Math.max(0, from - surroundingLength);
  const spans: Span[] = [];
  for (const span of scan(text.slice(start, to))) {
    const at = span.start + start;
    if (at >= from && at < from + sliceLength) spans.push({ start: at, end: span.end + start, rule: span.rule });
  }
  return spans;
}
