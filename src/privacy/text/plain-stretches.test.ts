import { expect, test } from "bun:test";
import fc from "fast-check";
import { normalize } from "./normalized-text.ts";

const piece = fc.oneof(
  fc.constantFrom(
    "const answer = await ask(question, options);\n",
    "https://user:pass%40word@host.example/path%2Fto?x=1#y%40z",
    "//not:an%40authority",
    "'quoted'",
    "[REDACTED:github_token:12]",
    "[not a placeholder]",
    "&amp;&quot;&#65;&nothing",
    '\\n\\t\\u0041\\\\"\\x41\\033[31m',
    "\x1b[31mred\x1b[0m",
    "word\\\ncontinued",
    "— “typed” é ü ß",
    "пароль=密码",
    "\u200bzero\u200bwidth",
    "w\0i\0d\0e\0",
    "tag\u{e0041}ged \u{1f600}",
    "аpple", // the first letter is Cyrillic
    " ",
    "/",
    ":",
    "x".repeat(5_000),
  ),
  fc.string({ maxLength: 40 }),
  fc.string({ unit: "grapheme", maxLength: 10 }),
);

/** A copy, because the next normalization reuses the buffers. */
function normalized(text: string, minStretch?: number) {
  const { text: plain, bytes, length, sourceOffsets, hiddenBoundaries } = normalize(text, minStretch);
  return {
    plain,
    bytes: bytes.toString("latin1", 0, length + 2),
    offsets: Array.from({ length: length + 1 }, (_, place) => sourceOffsets?.at(place) ?? place),
    boundaries: hiddenBoundaries === undefined ? undefined : [...hiddenBoundaries.subarray(0, length + 1)],
  };
}

test("a text that is copied in stretches is normalized as it is character by character", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.constantFrom(1, 2, 5, 32), (pieces, minStretch) => {
      const text = pieces.join("");
      const expected = normalized(text, Number.POSITIVE_INFINITY);
      expect(normalized(text, minStretch)).toEqual(expected);
      expect(normalized(text)).toEqual(expected);
    }),
    { numRuns: 400 },
  );
});
