import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ReadAhead } from "./read-ahead.ts";

const end = (text: string, from: number, base64: boolean) => {
  const rest = (base64 ? /^[\w+/=-]*/ : /^[\w-]*/).exec(text.slice(from));
  return from + (rest?.[0].length ?? 0);
};

describe("what is read of a text beyond the place that is looked at", () => {
  test("a token ends where its characters do, whatever was asked before", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "Z", "7", "_", "-", "+", "/", "=", " ", ".", "\n") });
    fc.assert(
      fc.property(text, fc.array(fc.tuple(fc.nat(40), fc.boolean())), (source, asked) => {
        const ahead = new ReadAhead(source.length);
        const bytes = Buffer.from(`${source}\0\0`);
        for (const [place, base64] of asked) {
          const from = Math.min(place, source.length);
          expect(ahead.tokenEnd(bytes, from, base64)).toBe(end(source, from, base64));
        }
      }),
    );
  });

  test("no character is read once for each token that may begin before it", () => {
    let reads = 0;
    const bytes = new Proxy(Buffer.from(`${"sk-or-v1-".repeat(2_000)}\0\0`), {
      get(target, key) {
        reads++;
        return Reflect.get(target, key);
      },
    });
    const ahead = new ReadAhead(bytes.length);
    for (let from = 0; from < 18_000; from += 9) ahead.tokenEnd(bytes, from, true);
    expect(reads).toBeLessThan(20_000);
  });

  test("tokens are judged in full, but in a text that is full of what is none by their beginnings", () => {
    const ahead = new ReadAhead(100_000);
    let judged = 0;
    for (let token = 0; token < 1_000; token++) judged += ahead.judgedLength(50_000);
    expect(judged).toBeLessThan(1_000_000);
    expect(new ReadAhead(100_000).judgedLength(50_000)).toBe(16_384);
    expect(new ReadAhead(40).judgedLength(40)).toBe(40);
  });
});
