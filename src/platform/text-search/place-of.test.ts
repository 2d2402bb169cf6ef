import { expect, test } from "bun:test";
import fc from "fast-check";
import { onlyPlaceOf, placeOf } from "./place-of.ts";

const piece = fc.constantFrom("a", "b", "ab".repeat(40), "a".repeat(70), "\u2014");
const texts = fc.array(piece, { maxLength: 24 }).map((pieces) => pieces.join(""));

test("finds a text where a search finds it", () => {
  fc.assert(
    fc.property(texts, texts, fc.nat(), fc.nat(), (text, other, from, length) => {
      const part = text.slice(from % (text.length + 1)).slice(0, length % (text.length + 1));
      for (const each of [part, other]) expect(placeOf(text, each)).toBe(text.indexOf(each));
    }),
  );
});

test("names the only place, and none where there are more", () => {
  fc.assert(
    fc.property(texts, fc.nat(), fc.nat(), (text, from, length) => {
      const part = text.slice(from % (text.length + 1)).slice(0, length % (text.length + 1));
      const only = onlyPlaceOf(text, part);
      if (only >= 0) expect([only, only]).toEqual([text.indexOf(part), text.lastIndexOf(part)]);
    }),
  );
  expect(onlyPlaceOf("one two three", "two")).toBe(4);
  expect(onlyPlaceOf("one two two", "two")).toBe(-1);
  expect(onlyPlaceOf("one", "two")).toBe(-1);
});

test("takes time linear in the text where all of it is alike", () => {
  const text = "a".repeat(131_072);
  const begun = performance.now();
  for (let round = 0; round < 20; round++) {
    expect(placeOf(text, `${text.slice(0, 65_000)}b`)).toBe(-1);
    expect(onlyPlaceOf(text, text.slice(0, 65_000))).toBe(-1);
  }
  expect(performance.now() - begun).toBeLessThan(2_000);
});
