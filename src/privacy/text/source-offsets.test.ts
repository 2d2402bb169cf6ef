import { expect, test } from "bun:test";
import fc from "fast-check";
import { SourceOffsets } from "./source-offsets.ts";

test("positions are the same as in a table of all positions", () => {
  // The distance in the source before each position, with several notes for one position, as after dropped characters.
  const steps = fc.array(fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 3 }), { maxLength: 3_000 });
  fc.assert(
    fc.property(steps, (places) => {
      const offsets = new SourceOffsets();
      const table: number[] = [];
      let source = 0;
      for (const [place, advances] of places.entries()) {
        for (const advance of advances) {
          offsets.note(place, source);
          table[place] = source;
          source += advance;
        }
      }
      for (const [place, expected] of table.entries()) {
        expect(offsets.at(place)).toBe(expected);
        expect(offsets.isBreak(place)).toBe(place === 0 ? expected !== 0 : expected !== (table[place - 1] ?? 0) + 1);
      }
    }),
    { numRuns: 60 },
  );
});
