import { expect, test } from "bun:test";
import fc from "fast-check";
import { normalize } from "#privacy/text/normalized-text.ts";
import { eachKeyword } from "./keyword-index.ts";

const words = [
  "pass",
  "pwd",
  "key",
  "token",
  "secret",
  "credential",
  "auth",
  "kennwort",
  "clave",
  "psk",
  "heslo",
  "pw:",
  "pw=",
  'pw"',
  "cookie",
  "@tcp(",
  ":5432:",
  "unzip",
  "://",
  "-----begin",
  "putty-user-key-file",
  "identified",
  "curl",
  "docker login",
  "7z ",
  "samlre",
  " -p ",
  "/p:",
  "sudo -s",
  "<<<",
  "mnemonic",
  "phrase",
];

test("a key word is found in any case, at every position of a text, also at its beginning and its end", () => {
  // Letters that are in no key word, so that nothing else is found and no word's beginning is changed.
  const filler = fc.string({ unit: fc.constantFrom("x", "Q", "j", "_", "\n"), maxLength: 9_000 });
  fc.assert(
    fc.property(filler, fc.constantFrom(...words), fc.boolean(), filler, (before, word, inCapitals, behind) => {
      const written = inCapitals ? word.toUpperCase() : word;
      const found: string[] = [];
      eachKeyword(normalize(`${before}${written}${behind}`), (at, which) => {
        found.push(`${which} at ${at}`);
        return at + which.length;
      });
      expect(found).toEqual([`${word} at ${before.length}`]);
    }),
    { numRuns: 400 },
  );
});

test("the same key words are found with and without WebAssembly", () => {
  const piece = fc.oneof(
    fc.constantFrom(...words),
    fc.string({ maxLength: 8 }),
    fc.constantFrom("masterauth", "ss", "PWD "),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 400 }), fc.nat(3), fc.nat(12), (pieces, lead, goOn) => {
      const normalized = normalize(`${" ".repeat(1_024 + lead)}${pieces.join("")}`);
      expect(normalized.memory).toBeDefined();
      const visits = [normalized, { ...normalized, memory: undefined }].map((each) => {
        const found: string[] = [];
        eachKeyword(each, (at, which, kind) => {
          found.push(`${which} (${kind}) at ${at}`);
          return at + goOn;
        });
        return found;
      });
      expect(visits[0]).toEqual(visits[1]);
    }),
    { numRuns: 300 },
  );
});
