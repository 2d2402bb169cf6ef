import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Utf8Decoder } from "./body-text.ts";

/** The text of these pieces, each passed as part of a larger buffer. */
function decoded(pieces: readonly Uint8Array[]): string {
  const decoder = new Utf8Decoder();
  let text = "";
  for (const piece of pieces) {
    const around = Buffer.concat([Buffer.from("<"), piece, Buffer.from(">")]);
    text += decoder.decode(around, 1, 1 + piece.length);
  }
  return text + decoder.end();
}

function split(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const at = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((to, i) => bytes.subarray(at[i], to));
}

describe("UTF-8 in pieces", () => {
  test("decodes like the runtime's decoder, wherever the bytes are split, valid or not", () => {
    // Bytes that are special in UTF-8 occur more often than at random.
    const byte = fc.oneof(
      fc.nat(255),
      fc.constantFrom(0x41, 0x80, 0xbf, 0xc3, 0xe2, 0xed, 0xef, 0xbb, 0xf0, 0x9f, 0xf5),
    );
    const bytes = fc.oneof(
      fc.array(byte, { maxLength: 24 }).map((list) => Uint8Array.from(list)),
      fc.string({ unit: "binary", maxLength: 12 }).map((text) => new TextEncoder().encode(text)),
    );
    fc.assert(
      fc.property(bytes, fc.array(fc.nat(24), { maxLength: 6 }), (whole, cuts) => {
        expect(decoded(split(whole, cuts))).toBe(new TextDecoder().decode(whole));
      }),
      { numRuns: 2_000 },
    );
  });
});
