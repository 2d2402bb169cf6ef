import { expect, test } from "bun:test";
import fc from "fast-check";
import { holdsAscii, oneByteText, replacements } from "./one-byte-text.ts";

const filling = "const answer = 42; // and some more of it\n".repeat(40);
const [replacement, noBreakSpace] = replacements;

test("is the same text where no character takes more than a byte, also where the runtime keeps two bytes for each", () => {
  for (const text of [filling, `${filling}\u00a4 na\u00efve \u00ff`, `${filling}\u2014`.slice(0, -1)])
    expect(oneByteText(text)).toEqual({ text, isChanged: false });
});

test("has another character in the place of each that takes more", () => {
  expect(oneByteText(`${filling}a\u2014b\u3000c\ud83d\ude00\u6807\u00e9`)).toEqual({
    text: `${filling}a${replacement}b${noBreakSpace}c${replacement}${replacement}${replacement}\u00e9`,
    isChanged: true,
  });
});

test("does not depend on the text that was read before", () => {
  const text = `${filling}\u2014`;
  const before = oneByteText(text);
  oneByteText("\u6807".repeat(100_000));
  expect(oneByteText(text)).toEqual(before);
});

test("is none for short and for very long texts, and for line ends that nothing else stands for", () => {
  for (const text of ["short \u2014", "x".repeat(131_073), `${filling}\u2028`, `\u2029${filling}`])
    expect(oneByteText(text)).toBeUndefined();
});

test("every character has one of the same class in its place", () => {
  for (let code = 0x100; code < 0x10000; code++) {
    const character = String.fromCharCode(code);
    const read = oneByteText(filling + character)?.text.at(-1) ?? character;
    expect([code, /\s/.test(read), /\w/.test(read), /./.test(read), read.trim() === ""]).toEqual([
      code,
      /\s/.test(character),
      /\w/.test(character),
      /./.test(character),
      character.trim() === "",
    ]);
  }
});

test("a pattern of ASCII matches where it matches in the text itself", () => {
  const pattern = /\[ *high *\]/i;
  const piece = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("[HIGH]", "[ high", "]", "[", "high ]", filling),
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const text = pieces.join("");
      for (const each of [text, filling + text]) expect(holdsAscii(each, pattern)).toBe(pattern.test(each));
    }),
  );
});
