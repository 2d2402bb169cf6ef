import type { Span } from "#privacy/text/spans.ts";

/** Longest text that is searched, so that a long one has the same findings in one piece and in slices. */
const maxTextLength = 131_072;
/** Values that are searched for, by their length: shorter ones are common, longer ones are documents. */
const minValueLength = 8;
const maxValueLength = 512;
/** Characters that may be searched for all values together. */
const maxSearched = 2_097_152;

/**
 * The other places of values that were found by what stands beside them: a password of a settings file is the same secret in the output of
 * the next command. Only values with letters and digits count, as a word may stand there for itself.
 */
export function addRepeatedValues(text: string, spans: Span[]): void {
  if (text.length > maxTextLength) return;
  const searched = new Set<string>();
  let left = maxSearched;
  for (const { start, end, rule } of [...spans]) {
    if (end - start < minValueLength || end - start > maxValueLength) continue;
    const value = text.slice(start, end);
    if (searched.has(value) || !isUnlikeWords(value)) continue;
    searched.add(value);
    left -= text.length;
    if (left < 0) return;
    for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length)) {
      const to = at + value.length;
      if (at !== start && !isWordCharacter(text, at - 1) && !isWordCharacter(text, to))
        spans.push({ start: at, end: to, rule });
    }
  }
}

/** With letters and digits, and no names as programs have them (`page-2`, `item_3`). */
function isUnlikeWords(value: string): boolean {
  return /\d/.test(value) && /[a-z]/i.test(value) && !/^[a-z]+(?:[-_. ][a-z]+)*[-_. ]?\d{1,4}$/i.test(value);
}

function isWordCharacter(text: string, at: number): boolean {
  return /\w/.test(text.charAt(at));
}
