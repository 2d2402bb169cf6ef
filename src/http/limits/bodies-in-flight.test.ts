import { expect, test } from "bun:test";
import fc from "fast-check";
import { BodiesInFlight, type HeldBody } from "./bodies-in-flight.ts";

const large = 1_000_001;
const none = (): HeldBody => ({ heldBytes: 0 });

test("large bodies are at most a quarter of the bytes in flight, so that there is room for others", () => {
  const bodies = new BodiesInFlight(8 * large);
  const [second, third] = [none(), none()];
  expect([none(), second, third].map((body) => bodies.resize(body, large))).toEqual([true, true, false]);
  expect(bodies.resize(none(), 1_000_000)).toBe(true);
  bodies.resize(second, 0);
  expect(bodies.resize(third, large)).toBe(true);
});

test("bytes in flight equal the held bytes, in any order of calls", () => {
  const step = fc.record({ body: fc.nat(5), bytes: fc.oneof(fc.constant(0), fc.nat(3_000_000)) });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const bodies = new BodiesInFlight(8_000_000);
      const all = Array.from({ length: 6 }, none);
      const sizes = all.map(() => 0);
      for (const { body, bytes } of steps) {
        const held = all[body];
        if (held !== undefined && bodies.resize(held, bytes)) sizes[body] = bytes;
        expect(bodies.bytes).toBe(sizes.reduce((sum, each) => sum + each, 0));
        expect(bodies.bytes).toBeLessThanOrEqual(8_000_000);
      }
    }),
  );
});
