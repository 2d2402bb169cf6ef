import { holdsAscii } from "#platform/text-search/one-byte-text.ts";

/** The inline marker that forces the pro tier; letter case and blanks inside the brackets do not matter. */
const marker = /\[ *reasoning *: *high *\]/i;

/** Whether a text the caller has written (an instruction, the newest user message) carries `[reasoning:high]`. */
export function asksForHighReasoning(text: string): boolean {
  return text.includes("[") && holdsAscii(text, marker);
}
