/** What is found of several sets of fragments: a bit for each set, and one for text beyond Latin letters and punctuation. */
export type FoundSets = number;

/** Set where a text holds a character that is neither Latin (up to U+024F) nor general punctuation. */
export const beyondLatin: FoundSets = 1 << 30;

const fragmentLength = 4;
/** Letters are compared by their five lower bits, which case does not change. */
const bitsPerLetter = 5;
const letterMask = (1 << bitsPerLetter) - 1;
const fragmentMask = (1 << (bitsPerLetter * fragmentLength)) - 1;
const tableSize = 4_096;
const lastLatin = 0x24f;
const firstPunctuation = 0x2000;
const lastPunctuation = 0x206f;

/**
 * A function that says in one pass which of the sets of four-letter fragments may occur in a text; it may say so of one that does not
 * occur, as only five bits of each letter count. An alternation of many words takes several times as long, as it is tried at every letter.
 */
export function fragmentSearch(sets: readonly (readonly string[])[]): (text: string) => FoundSets {
  const keys = new Int32Array(tableSize).fill(-1);
  const bits = new Int32Array(tableSize);
  for (const [number, fragments] of sets.entries()) {
    for (const fragment of fragments) {
      if (fragment.length !== fragmentLength) throw new RangeError(`not four letters: ${fragment}`);
      const key = [...fragment].reduce((before, letter) => withLetter(before, letter.charCodeAt(0)), 0);
      const place = placeOf(key);
      if (keys[place] !== -1 && keys[place] !== key)
        throw new RangeError(`no place for ${fragment}: choose other letters`);
      keys[place] = key;
      bits[place] = (bits[place] ?? 0) | (1 << number);
    }
  }
  return (text) => {
    let found = 0;
    let key = 0;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      key = withLetter(key, code);
      const place = placeOf(key);
      if (keys[place] === key) found |= bits[place] ?? 0;
      if (code > lastLatin && (code < firstPunctuation || code > lastPunctuation)) found |= beyondLatin;
    }
    return found;
  };
}

function withLetter(before: number, code: number): number {
  return ((before << bitsPerLetter) | (code & letterMask)) & fragmentMask;
}

function placeOf(key: number): number {
  return (key ^ (key >>> 8)) & (tableSize - 1);
}
