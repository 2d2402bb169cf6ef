import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { BodiesInFlight, type HeldBytes } from "./bodies-in-flight.ts";

const large = 1_000_001;

describe("bytes of bodies in flight", () => {
  test("of large bodies are at most a quarter, so that there is room for others", () => {
    const bodies = new BodiesInFlight(8 * large);
    expect(bodies.hold(large)).toBeDefined();
    const second = bodies.hold(large);
    expect(second).toBeDefined();
    expect(bodies.hold(large)).toBeUndefined();
    expect(bodies.hold(1_000_000)).toBeDefined();
    second?.release();
    expect(bodies.hold(large)).toBeDefined();
  });

  test("equal the held bytes, in any order of calls, and are 0 when all are released", () => {
    const step = fc.record({ body: fc.nat(5), bytes: fc.nat(3_000_000), release: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const bodies = new BodiesInFlight(8_000_000);
        const open = new Map<number, { held: HeldBytes; bytes: number }>();
        for (const { body, bytes, release } of steps) {
          const at = open.get(body);
          if (release) {
            at?.held.release();
            open.delete(body);
          } else if (at === undefined) {
            const held = bodies.hold(bytes);
            if (held !== undefined) open.set(body, { held, bytes });
          } else if (at.held.growTo(bytes)) {
            at.bytes = bytes;
          }
          const sizes = [...open.values()].map((each) => each.bytes);
          expect(bodies.bytes).toBe(sizes.reduce((sum, each) => sum + each, 0));
          expect(bodies.bytes).toBeLessThanOrEqual(8_000_000);
        }
        for (const { held } of open.values()) held.release();
        expect(bodies.bytes).toBe(0);
      }),
    );
  });
});
