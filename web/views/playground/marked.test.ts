import { expect, test } from "bun:test";
import fc from "fast-check";
import { piecesOf } from "./marked.ts";

test("each finding is a separate piece", () => {
  expect(piecesOf("key abc end", [{ rule: "api_key", start: 4, end: 7 }])).toEqual([
    { start: 0, text: "key ", rule: null },
    { start: 4, text: "abc", rule: "api_key" },
    { start: 7, text: " end", rule: null },
  ]);
});

test("the pieces add up to the text, whatever the findings, also with findings of an older text", () => {
  const finding = fc.record({ rule: fc.constant("r"), start: fc.nat(30), end: fc.nat(30) });
  fc.assert(
    fc.property(fc.string({ maxLength: 20 }), fc.array(finding), (text, findings) => {
      const pieces = piecesOf(text, findings);
      expect(pieces.map((piece) => piece.text).join("")).toBe(text);
      for (const { start, text: piece } of pieces) expect(text.slice(start, start + piece.length)).toBe(piece);
    }),
  );
});
