/** A shorter text is read in less time than it takes to look for it. */
const minLength = 64;
/** What an entry takes beside its value, in bytes. */
const bytesPerEntry = 160;

const keys = crypto.getRandomValues(new BigUint64Array(2));

/**
 * A function of a text that keeps what it has found, under two keyed hashes of the text: agents send the same system prompt and the
 * same ask with each of their calls. Kept are numbers and names that the program itself has chosen, never text.
 * @param bytesOf estimate of what a finding takes
 */
export function remembered<T extends object | string | boolean>(
  find: (text: string) => T,
  maxBytes: number,
  bytesOf: (found: T) => number,
): (text: string) => T {
  const known = new Map<bigint, { readonly check: bigint; readonly found: T }>();
  let bytes = 0;
  return (text) => {
    if (text.length < minLength) return find(text);
    const key = Bun.hash.rapidhash(text, keys[0]);
    const check = Bun.hash.xxHash64(text, keys[1]);
    const entry = known.get(key);
    if (entry?.check === check) return entry.found;
    const found = find(text);
    bytes += bytesPerEntry + bytesOf(found);
    if (bytes > maxBytes) {
      known.clear();
      bytes = bytesPerEntry + bytesOf(found);
    }
    known.set(key, { check, found });
    return found;
  };
}
