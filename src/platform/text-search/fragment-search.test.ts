import { expect, test } from "bun:test";
import fc from "fast-check";
import { beyondLatin, fragmentSearch } from "./fragment-search.ts";

const sets = [["titl", "pr t"], ["résu"], ["fim_", "titl"]];
const search = fragmentSearch(sets);

test("finds fragments of any case, wherever they stand", () => {
  expect(search("the SUBTITLE")).toBe(0b101);
  expect(search("titl")).toBe(0b101);
  expect(search("a Pr Title")).toBe(0b101);
  expect(search("le RÉSUMÉ")).toBe(0b010);
  expect(search("<|fim_prefix|>")).toBe(0b100);
  expect(search("tit")).toBe(0);
  expect(search("")).toBe(0);
});

test("says that a text has letters beyond Latin, and means no punctuation by it", () => {
  for (const text of ["标题", "отчёт", "ชื่อ", "a｜b"]) expect(search(text)).toBe(beyondLatin);
  for (const text of ["naïve – “quoted” …", "Łódź", ""]) expect(search(text)).toBe(0);
});

test("never misses a fragment", () => {
  const piece = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(...sets.flat(), "TITL", "Fim_"));
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const text = pieces.join("");
      const found = search(text);
      for (const [number, fragments] of sets.entries())
        if (fragments.some((fragment) => text.toLowerCase().includes(fragment)))
          expect(found & (1 << number)).not.toBe(0);
    }),
  );
});

test("refuses fragments that it cannot tell apart", () => {
  expect(() => fragmentSearch([["title"]])).toThrow(RangeError);
});
