import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { BodiesInFlight, type HeldBytes } from "./bodies-in-flight.ts";

const large = 1_000_001;

describe("bytes of bodies in flight", () => {
  test("are refused beyond the limit, until some are released", () => {
    const bodies = new BodiesInFlight(2_000);
    const first = bodies.hold(1_500);
    expect(bodies.hold(501)).toBeUndefined();
    expect(bodies.hold(500)).toBeDefined();
    first?.release();
    first?.release();
    expect(bodies.bytes).toBe(500);
    expect(bodies.hold(1_500)).toBeDefined();
  });

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

  test("admit a single large body, whatever the limit", () => {
    const bodies = new BodiesInFlight(1_000);
    const only = bodies.hold(16_000_000);
    expect(only).toBeDefined();
    expect(bodies.hold(1)).toBeUndefined();
    only?.release();
    expect(bodies.hold(1)).toBeDefined();
  });

  test("grow with a body of unknown length, which is refused if there is no room", () => {
    const bodies = new BodiesInFlight(4 * large);
    const unknown = bodies.hold(0);
    expect(unknown?.growTo(500_000)).toBe(true);
    expect(unknown?.growTo(large)).toBe(true);
    expect(bodies.hold(large)).toBeUndefined();
    const other = bodies.hold(0);
    expect(other?.growTo(1_000_000)).toBe(true);
    expect(other?.growTo(large)).toBe(false);
    expect(bodies.bytes).toBe(large + 1_000_000);
    unknown?.release();
    expect(other?.growTo(large)).toBe(true);
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
