/** A part of a text that must not go upstream: `[start, end)` in UTF-16 units of the text it was found in. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly rule: string;
}

/** Finds secrets in one text. Spans are in order and do not overlap. */
export type Scan = (text: string) => readonly Span[];

/** Sorts spans and joins those that overlap under the rule of the longer one, in whatever order rules ran. */
export function mergeSpans(spans: Span[]): Span[] {
  if (spans.length < 2) return spans;
  spans.sort((a, b) => a.start - b.start || b.end - a.end);
  const out: Span[] = [];
  let last: Span | undefined;
  for (const span of spans) {
    if (last === undefined || span.start >= last.end) {
      if (last !== undefined) out.push(last);
      last = span;
    } else if (span.end > last.end) {
      const rule = span.end - span.start > last.end - last.start ? span.rule : last.rule;
      last = { start: last.start, end: span.end, rule };
    }
  }
  if (last !== undefined) out.push(last);
  return out;
}
