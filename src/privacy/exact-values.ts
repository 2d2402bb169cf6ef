import type { Span } from "./spans.ts";
import type { View } from "./view.ts";

/** A value that is known to be secret, such as the gateway's own upstream key. */
export interface ExactValue {
  readonly rule: string;
  readonly value: string;
}

/** Shorter values would be found in the middle of words. */
const shortest = 6;

/** Finds known values wherever they stand, also in the two usual encodings. */
export function exactValueRules(values: readonly ExactValue[]): (view: View, found: Span[]) => void {
  const needles = values
    .filter(({ value }) => value.length >= shortest)
    .flatMap(({ rule, value }) =>
      [...new Set([value, encodeURIComponent(value), Buffer.from(value).toString("base64").replace(/=+$/, "")])].map(
        (needle) => ({
          rule,
          needle,
        }),
      ),
    );
  return (view, found) => {
    for (const { rule, needle } of needles) {
      for (let at = view.text.indexOf(needle); at >= 0; at = view.text.indexOf(needle, at + needle.length)) {
        found.push({ start: at, end: at + needle.length, rule });
      }
    }
  };
}
