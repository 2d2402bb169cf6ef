/** Unknown outside, so that nobody can have one text taken for another. */
const [seed = 0n] = crypto.getRandomValues(new BigUint64Array(1));

/** A name for a text in this process, in 53 bits. Chance makes two of 2^53 texts equal; it guards no secrets. */
export function hashOf(text: string): number {
  return Number(BigInt.asUintN(53, Bun.hash.xxHash3(text, seed)));
}

/** A name for a text that nodes share, in 16 hex digits, by a published algorithm, not the runtime's own choice. */
export function sharedHash(text: string): string {
  return Bun.hash.xxHash3(text).toString(16).padStart(16, "0");
}

const varying = /\u001b\[[0-9;]{0,20}m|\b(?:0x)?[0-9a-f]{8,64}\b|\d+(?:[.:]\d+)*(?:ms|s)?/g;

/** A line without what differs from run to run: folders, addresses, numbers, times, colours. */
export function normalized(line: string): string {
  const words = line.toLowerCase().split(/\s/).filter(Boolean);
  const named = words.map((word) => word.slice(Math.max(word.lastIndexOf("/"), word.lastIndexOf("\\"), 0)));
  return named.join(" ").replace(varying, "#");
}
