/** How much before its end tells one part of a body from others, most of the time. */
const endBytes = 64;

/** Where a part of a body ends that was seen before. Only says where to look. */
export interface PartEnd {
  readonly length: number;
  /** Hash of its last bytes. */
  readonly hash: number;
}

/** Notes where bytes end, unless it is noted already. */
export function addEnd(ends: PartEnd[], bytes: Uint8Array, most: number): boolean {
  const { length } = bytes;
  const hash = hashBefore(bytes, length, length);
  if (ends.some((end) => end.length === length && end.hash === hash)) return false;
  if (ends.unshift({ length, hash }) > most) ends.pop();
  return true;
}

export interface Found<T> {
  readonly known: T;
  /** Of the bytes that it is known of. */
  readonly length: number;
}

/** What is known of the longest bytes from a place on that end in one of these ways, before a byte that may follow them. */
export function longestKnown<T>(
  ends: readonly PartEnd[],
  bytes: Uint8Array,
  from: number,
  mayFollow: (byte: number | undefined) => boolean,
  recall: (part: Uint8Array) => T | undefined,
): Found<T> | undefined {
  const possible = ends.filter(({ length, hash }) => {
    const end = from + length;
    return mayFollow(bytes[end]) && hashBefore(bytes, end, length) === hash;
  });
  possible.sort((a, b) => b.length - a.length);
  for (const { length } of possible) {
    const known = recall(bytes.subarray(from, from + length));
    if (known !== undefined) return { known, length };
  }
  return undefined;
}

function hashBefore(bytes: Uint8Array, end: number, length: number): number {
  return Bun.hash.crc32(bytes.subarray(end - Math.min(length, endBytes), end));
}
