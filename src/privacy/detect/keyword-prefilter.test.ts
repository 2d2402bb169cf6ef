import { expect, test } from "bun:test";
import fc from "fast-check";
import { normalize } from "#privacy/text/normalized-text.ts";
import { prefilter } from "./keyword-prefilter.ts";

const words = [
  ...'pass pwd key token secret credential auth kennwort clave psk heslo pw: pw= pw" cookie @tcp( :5432: bearer :// curl'.split(
    " ",
  ),
  ..."-----begin,putty-user-key-file,identified,docker login,chpasswd, -p ,/p:,sudo -s,<<<,mnemonic,phrase".split(","),
];

test("a key word is found in any case, at every position of a text, also at its beginning and its end", () => {
  // Letters that are in no key word, so that nothing else is found and no word's beginning is changed.
  const filler = fc.string({ unit: fc.constantFrom("x", "Q", "j", "_", "\n"), maxLength: 9_000 });
  fc.assert(
    fc.property(filler, fc.constantFrom(...words), fc.boolean(), filler, (before, word, inCapitals, behind) => {
      const written = inCapitals ? word.toUpperCase() : word;
      const found: string[] = [];
      prefilter(normalize(`${before}${written}${behind}`), {
        base64Run: (_from, to) => to,
        keyword: (at, which) => {
          found.push(`${which} at ${at}`);
          return at + which.length;
        },
      });
      expect(found).toEqual([`${word} at ${before.length}`]);
    }),
    { numRuns: 400 },
  );
});

test("a run of 16 characters and more is found at every position of a text, and no shorter one", () => {
  const word = fc.string({ unit: fc.constantFrom(..."aZ9_-+/"), minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(fc.array(word, { maxLength: 300 }), fc.constantFrom(" ", "(", "\n\n"), (parts, between) => {
      const text = parts.join(between);
      const found: string[] = [];
      prefilter(normalize(text), {
        base64Run: (from, to) => {
          found.push(text.slice(from, to));
          return to;
        },
        keyword: (at) => at + 1,
      });
      expect(found).toEqual(parts.filter(({ length }) => length >= 16));
    }),
    { numRuns: 200 },
  );
});
