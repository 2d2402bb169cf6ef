import { expect, test } from "bun:test";
import fc from "fast-check";
import { doubleArray } from "./double-array.ts";

const letters = "abcde";
const symbolOf = new Uint16Array(0x10000);
for (const [index, letter] of [...letters].entries()) symbolOf[letter.charCodeAt(0)] = index + 1;

const listOfTexts = fc
  .uniqueArray(fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 6 }), { maxLength: 60 })
  .map((texts) => texts.sort());

/** The slot at the end of a text; undefined when the trie has none. */
function slotOf(text: string, { base, parentOf }: ReturnType<typeof doubleArray>): number | undefined {
  let slot = 1;
  for (const letter of text) {
    const child = (base[slot] ?? 0) + (symbolOf[letter.charCodeAt(0)] ?? 0);
    if (parentOf[child] !== slot) return undefined;
    slot = child;
  }
  return slot;
}

test("every text ends at a slot of its own, and nothing is there that begins no text", () => {
  fc.assert(
    fc.property(listOfTexts, fc.string({ unit: fc.constantFrom(...letters), minLength: 1 }), (texts, other) => {
      const trie = doubleArray(texts, symbolOf, 10_000);
      expect(trie.endOf).toEqual(texts.map((text) => slotOf(text, trie) ?? -1));
      expect(new Set(trie.endOf).size).toBe(texts.length);
      expect(slotOf(other, trie) !== undefined).toBe(texts.some((text) => text.startsWith(other)));
    }),
  );
});

test("refuses texts that need more slots than there may be", () => {
  expect(() => doubleArray(["aaa", "bbb"], symbolOf, 5)).toThrow(RangeError);
});
