/**
 * A trie as a double array: the child of slot `s` by a symbol is the slot `base[s] + symbol` if its `parentOf` is `s`.
 * Rows of children lie in each other's gaps, so all of it is a few hundred kilobytes, and what is used of it stays in the processor's
 * cache between two requests; as plain rows of all symbols it was megabytes, and walking it cost a cache miss a letter.
 */
export interface DoubleArray {
  readonly base: readonly number[];
  readonly parentOf: readonly number[];
  /** The slot at which each text ends, in their order. */
  readonly endOf: readonly number[];
}

const rootSlot = 1;

/**
 * Packs texts that are in the order of their characters, each once: the texts below a node stand side by side, so that there need be
 * no object for each node.
 * @param symbolOf a number for each character that occurs, from 1
 */
export function doubleArray(texts: readonly string[], symbolOf: Uint16Array, maxSlots: number): DoubleArray {
  const base = [0, 0];
  const parentOf = [0, 0];
  const endOf = new Array<number>(texts.length).fill(0);
  let firstFree = rootSlot + 1;
  /** The children of one node: their symbols, and behind which text each ends. */
  const row: Row = { symbols: [], ends: [] };
  /** The nodes of one depth, three numbers each: its slot, the first text below it, and the first behind these. */
  let nodes = [rootSlot, 0, texts.length];
  for (let depth = 0; nodes.length > 0; depth++) {
    const children: number[] = [];
    for (let at = 0; at < nodes.length; at += 3) {
      const slot = nodes[at] ?? 0;
      const end = nodes[at + 2] ?? 0;
      let from = nodes[at + 1] ?? 0;
      if (texts[from]?.length === depth) endOf[from++] = slot;
      if (from === end) continue;
      readRow(row, texts, from, end, depth, symbolOf);
      while ((parentOf[firstFree] ?? 0) !== 0) firstFree++;
      const place = placeFor(row.symbols, firstFree, parentOf);
      base[slot] = place;
      for (let index = 0; index < row.symbols.length; index++) {
        const child = place + (row.symbols[index] ?? 0);
        // Written out so that the arrays have no holes, which cost a look-up elsewhere.
        while (parentOf.length <= child) {
          base.push(0);
          parentOf.push(0);
        }
        parentOf[child] = slot;
        const behind = row.ends[index] ?? 0;
        children.push(child, from, behind);
        from = behind;
      }
    }
    nodes = children;
  }
  if (base.length > maxSlots) throw new RangeError("the vocabulary has outgrown its table");
  return { base, parentOf, endOf };
}

interface Row {
  readonly symbols: number[];
  readonly ends: number[];
}

function readRow(row: Row, texts: readonly string[], from: number, end: number, depth: number, symbolOf: Uint16Array) {
  row.symbols.length = 0;
  row.ends.length = 0;
  for (let at = from; at < end; ) {
    const code = texts[at]?.charCodeAt(depth) ?? 0;
    while (at < end && texts[at]?.charCodeAt(depth) === code) at++;
    row.symbols.push(symbolOf[code] ?? 0);
    row.ends.push(at);
  }
}

/** The first base at which the slots of all symbols are free. */
function placeFor(symbols: readonly number[], firstFree: number, parentOf: readonly number[]): number {
  let at = Math.max(1, firstFree - Math.min(...symbols));
  for (let index = 0; index < symbols.length; index++) {
    if ((parentOf[at + (symbols[index] ?? 0)] ?? 0) === 0) continue;
    at++;
    index = -1;
  }
  return at;
}
