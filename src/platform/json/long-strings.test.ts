import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { LongStrings } from "./long-strings.ts";

const strings = new LongStrings();

/** What the parser makes of the strings in a list. */
function parsedIn(json: string): readonly string[] {
  return JSON.parse(json);
}

/** A character as programs write it that write nothing but ASCII. */
function escaped(code: number): string {
  const units = String.fromCodePoint(code).split("");
  return units.map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
}

/** How a character of a string may be written. */
const written = fc.oneof(
  fc.constantFrom(
    '\\"',
    "\\\\",
    "\\/",
    "\\b",
    "\\f",
    "\\n",
    "\\r",
    "\\t",
    "\\u0000",
    "\\u001F",
    "\\u00e9",
    "\\u20AC",
    "\\uffff",
  ),
  fc.constantFrom(
    "\\\\\\\\",
    '\\\\\\"',
    "a\\n",
    "é",
    "—",
    "\u{1f600}",
    "\ufeff",
    "\u007f",
    "word ".repeat(9),
    "x".repeat(31),
  ),
  fc.string({ maxLength: 40 }).map((text) => JSON.stringify(text).slice(1, -1)),
  fc
    .integer({ min: 0x80, max: 0x10ffff })
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map(escaped),
);
const aString = fc.array(written, { maxLength: 30 }).map((pieces) => `"${pieces.join("")}"`);

describe("long strings of a JSON text", () => {
  test("a string is found in its place and says what the parser makes of it, wherever escape sequences stand", () => {
    fc.assert(
      fc.property(fc.array(aString, { minLength: 1, maxLength: 8 }), (list) => {
        const json = `[${list.join(", ")}]`;
        const bytes = Buffer.from(json);
        const found = strings.in(bytes, 0);
        expect(found?.map(({ text }) => text)).toEqual([...parsedIn(json)]);
        for (const [index, { from, to }] of (found ?? []).entries())
          expect(bytes.toString("utf8", from - 1, to + 1)).toBe(list[index] ?? "");
      }),
      { numRuns: 3_000 },
    );
  });

  test("an escape sequence at each place of a block is read, and so is one behind the other", () => {
    for (let before = 0; before < 100; before++) {
      for (const sequence of [
        "\\n",
        '\\"',
        "\\\\",
        "\\\\\\n",
        "\\u0041",
        "\\u00e9",
        "\\u20ac",
        "\\ud83d\\ude00",
        '\\"\\"\\"',
        "é\\t",
      ]) {
        const json = `["${"x".repeat(before)}${sequence}${"y".repeat(70)}\\t"]`;
        expect(strings.in(Buffer.from(json), 0)?.[0]?.text).toBe(parsedIn(json)[0]);
      }
    }
  });

  test("shorter strings are left out", () => {
    const json = JSON.stringify(["a".repeat(99), "b".repeat(100), "c\n".repeat(50), "d"]);
    expect(strings.in(Buffer.from(json), 100)?.map(({ text }) => text.slice(0, 1))).toEqual(["b", "c"]);
  });

  test.each([
    ["a control character", '["a\nb"]'],
    ["an unknown escape sequence", '["a\\xb"]'],
    ["letters that are no digits", '["\\u00g1"]'],
    ["a string that is not closed", '["abc'],
    ["a string that ends in a backslash", '["abc\\'],
    ["a code that is cut off", '["abc\\u00'],
    ["the first half of a character", '["\\ud83d"]'],
    ["the second half of a character", '["\\ude00"]'],
    ["two first halves of a character", '["\\ud83d\\ud83d\\ude00"]'],
    ["the first half of a character before another code", '["\\ud83d\\u0041"]'],
    ["the first half of a character before half a code", '["\\ud83d\\ude0"]'],
  ])("%s is for the parser to judge", (_, json) => {
    // A longer text first: nothing that is left of it in the buffer may end the string.
    strings.in(Buffer.from(JSON.stringify(['"'.repeat(300)])), 0);
    expect(strings.in(Buffer.from(json), 0)).toBeUndefined();
  });

  test("bytes that are no UTF-8 are for the decoder to judge", () => {
    for (const bytes of [[0xff], [0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80]])
      expect(strings.in(Buffer.from([0x22, ...bytes, 0x22]), 0)).toBeUndefined();
    expect(strings.in(Buffer.from([0x22, 0xc3, 0x5c, 0x6e, 0x22]), 0)).toBeUndefined();
  });

  test("text of any bytes is either left to the parser or read as the parser does", () => {
    const byte = fc.constantFrom(...Buffer.from('""""\\\\\\\\nu0041{}[],: xé€\n'));
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 120 }), (list) => {
        const bytes = Buffer.from([0x5b, ...list, 0x5d]);
        let parsed: unknown;
        try {
          parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
        } catch {
          return;
        }
        if (Array.isArray(parsed) && parsed.every((each) => typeof each === "string"))
          expect(strings.in(bytes, 0)?.map(({ text }) => text)).toEqual(parsed);
      }),
      { numRuns: 20_000 },
    );
  });

  test("no more than 64 strings are found, and they are the first", () => {
    const found = strings.in(Buffer.from(JSON.stringify(Array.from({ length: 100 }, (_, index) => `${index}`))), 0);
    expect(found?.map(({ text }) => text)).toEqual(Array.from({ length: 64 }, (_, index) => `${index}`));
  });
});
