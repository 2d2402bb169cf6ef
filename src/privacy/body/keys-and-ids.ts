import { wordList } from "#privacy/rules/tables.ts";
import type { Scan, Span } from "#privacy/text/spans.ts";

/**
 * Keys of objects, and ids that pair one place of a body with another. They are read like text, but nothing can replace
 * them: the upstream looks for a key, and an id must be the same wherever it stands.
 */

/** Members whose value pairs places with each other, or chooses among values that the API knows. */
export const idKeys: ReadonlySet<string> = new Set(["id", "tool_call_id", "type", "role", "model"]);
/** Members with the function that is called: `name` in them is the one that `tools` declares. */
export const functionCallKeys: ReadonlySet<string> = new Set(["function", "function_call", "custom"]);

/** Names of the API itself, which every body is full of: no rule is asked about them. */
export const apiMemberNames: ReadonlySet<string> = wordList("apiMemberNames");

/** Longer names are scanned each time. */
const maxCachedLength = 128;
const maxCachedNames = 16_384;

/** A scan that keeps which names hold nothing: a scan of a random id takes as long as that of a line of text. */
export function cacheCleanNames(scan: Scan): Scan {
  const clean = new Set<string>();
  return (name) => {
    if (clean.has(name)) return noSpans;
    const spans = scan(name);
    if (spans.length > 0 || name.length > maxCachedLength) return spans;
    if (clean.size >= maxCachedNames) clean.clear();
    clean.add(name);
    return noSpans;
  };
}

const noSpans: readonly Span[] = [];
