import { tagOfText } from "./process-tags.ts";
import { TwoGenerations } from "./two-generations.ts";

/** A shorter text is read in less time than its tag takes. */
const minLength = 64;

/** What is remembered of a text: numbers and names that the program itself has chosen. Never text, not even a part of it. */
type Finding = object | string | boolean;

/**
 * A function of a text that remembers what it has found, under keyed tags of the texts (`tagOfText`): agents send the same system prompt and
 * the same ask with each of their calls.
 * @param bytesOf estimate of what a finding takes
 */
export function remembered<T extends Finding>(
  find: (text: string) => T,
  maxBytes: number,
  bytesOf: (found: T) => number,
): (text: string) => T {
  const memory = new TwoGenerations<T>(maxBytes, bytesOf);
  return (text) => {
    if (text.length < minLength) return find(text);
    const tag = tagOfText(text);
    const known = memory.get(tag);
    if (known !== undefined) return known;
    const found = find(text);
    memory.set(tag, found);
    return found;
  };
}
