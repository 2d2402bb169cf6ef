import { expect, test } from "bun:test";
import fc from "fast-check";
import { messageRuns, minRunBytes } from "./message-runs.ts";

/** Where messages of these lengths stand, from a place on, with a comma between them. */
function placesOf(lengths: readonly number[], start: number): number[] {
  const places: number[] = [];
  let from = start;
  for (const length of lengths) {
    places.push(from, from + length);
    from += length + 1;
  }
  return places;
}

const conversation = fc.array(fc.integer({ min: 20, max: 30_000 }), { minLength: 1, maxLength: 60 });

test("a longer conversation begins with the runs of a shorter one, wherever they are continued and stand", () => {
  fc.assert(
    fc.property(conversation, fc.nat(60), fc.nat(40_000), (lengths, count, start) => {
      const runs = messageRuns(placesOf(lengths, 0));
      const shorter = messageRuns(placesOf(lengths.slice(0, count), start));
      expect(runs.slice(0, shorter.length)).toEqual(shorter);
      const behind = shorter.at(-1)?.to ?? 0;
      expect([...shorter, ...messageRuns(placesOf(lengths, start), behind)]).toEqual(runs);
    }),
  );
});

test("runs follow one another, and each is as long as it has to be", () => {
  fc.assert(
    fc.property(conversation, (lengths) => {
      const places = placesOf(lengths, 0);
      let behind = 0;
      for (const { from, to } of messageRuns(places)) {
        expect(from).toBe(behind);
        behind = to;
        const start = Number(places[2 * from]);
        const least = Math.max(minRunBytes, start / 16);
        expect(Number(places[2 * to - 1]) - start).toBeGreaterThanOrEqual(least);
        const withoutLast = to - from > 1 ? Number(places[2 * to - 3]) - start : 0;
        expect(withoutLast).toBeLessThan(least);
      }
    }),
  );
});
