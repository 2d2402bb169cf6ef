import { isObject } from "#domain/chat.ts";
import { isCacheKeyName } from "#http/request/json-shape.ts";

/** What the scan of the text's shape would say of JSON that was parsed. */
export interface ValueCounts {
  /** JSON values, counted as `hasMoreValuesThan` counts them. */
  values: number;
  /** Some key or text in it asks to write to a prompt cache. */
  cacheControl: boolean;
}

/** Adds what is in an object or array. */
export function countIn(value: object, counts: ValueCounts): void {
  // The bracket counts as one, and so does each comma.
  const members = Array.isArray(value) ? value : Object.values(value);
  counts.values += Math.max(1, members.length);
  if (isObject(value)) counts.cacheControl ||= Object.keys(value).some(isCacheKeyName);
  for (const member of members) {
    if (typeof member === "string") counts.cacheControl ||= isCacheKeyName(member);
    else if (typeof member === "object" && member !== null) countIn(member, counts);
  }
}
