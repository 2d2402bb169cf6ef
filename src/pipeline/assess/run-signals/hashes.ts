/** Unknown outside, so that nobody can have one text taken for another. */
const [seed = 0n] = crypto.getRandomValues(new BigUint64Array(1));

/** A name for a text, in as many bits as a number holds. Chance makes two of 2^53 texts equal; it guards no secrets. */
export function hashOf(text: string): number {
  return Number(BigInt.asUintN(53, Bun.hash.xxHash3(text, seed)));
}

/** FNV-1a, twice 32 bits with different seeds: 16 hex digits. Tells errors apart; protects nothing. */
export function fnv1a(text: string): string {
  let low = 0x811c9dc5;
  let high = 0x01234567;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x01000193);
  }
  return (high >>> 0).toString(16).padStart(8, "0") + (low >>> 0).toString(16).padStart(8, "0");
}

/** A line without what differs from run to run: folders, addresses, numbers, times, colours. */
export function normalized(line: string): string {
  return line
    .toLowerCase()
    .replace(/\u001b\[[0-9;]*m/g, "")
    .replace(/\b0x[0-9a-f]+\b|\b[0-9a-f]{8,}\b/g, "#")
    .replace(/[\w.~-]*[/\\](?:[\w.~-]*[/\\])*/g, "/")
    .replace(/\d+(?:[.:]\d+)*(?:ms|s)?/g, "#")
    .replace(/\s+/g, " ")
    .trim();
}
