/** A name for a text that nodes share, in 16 hex digits, by a published algorithm. It guards no secrets. */
export function hashOf(text: string): string {
  return Bun.hash.xxHash3(text).toString(16).padStart(16, "0");
}

const varying = /\u001b\[[0-9;]{0,20}m|\b(?:0x)?[0-9a-f]{8,64}\b|\d+(?:[.:]\d+)*(?:ms|s)?/g;

/** A line without what differs from run to run: folders, addresses, numbers, times, colours. */
export function normalized(line: string): string {
  const words = line.toLowerCase().split(/\s/).filter(Boolean);
  const named = words.map((word) => word.slice(Math.max(word.lastIndexOf("/"), word.lastIndexOf("\\"), 0)));
  return named.join(" ").replace(varying, "#");
}
