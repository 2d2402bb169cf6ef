import { type View, viewOf } from "#privacy/text/normalized-text.ts";
import type { Span } from "#privacy/text/spans.ts";

/** A value that is known to be secret, such as the gateway's own upstream key. */
export interface ExactValue {
  readonly rule: string;
  readonly value: string;
  /** It goes upstream with every call, so answers may hold it. */
  readonly sentUpstream?: true;
}

/** Shorter values would be found in the middle of words. */
const shortest = 6;

/** Finds known values wherever they stand, also in the two usual encodings. */
export function exactValueRules(values: readonly ExactValue[]): (view: View, found: Span[]) => void {
  const needles: { readonly rule: string; readonly needle: string }[] = [];
  for (const { rule, value } of values) {
    if (value.length < shortest) continue;
    const base64 = Buffer.from(value).toString("base64").replace(/=+$/, "");
    for (const form of new Set([value, encodeURIComponent(value), base64])) {
      needles.push({ rule, needle: viewOf(form).text }); // as a scan would read it
    }
  }
  return (view, found) => {
    for (const { rule, needle } of needles) {
      for (let at = view.text.indexOf(needle); at >= 0; at = view.text.indexOf(needle, at + needle.length)) {
        found.push({ start: at, end: at + needle.length, rule });
      }
    }
  };
}
