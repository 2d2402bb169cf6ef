import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createAnswerGuard } from "./answer-guard.ts";
import { keyForms } from "./key-forms.ts";
import { StartFinder } from "./start-finder.ts";

const keys = ["sk-or-v1-0123456789abcdef", "aaaa-aaaa-aaaa-1", 'p\tq/r+s=t"u\\v0', "schlüssel-0123456789"];

/** Pieces of text in which the key is whole, cut off, split, repeated, or almost present. */
function piecesOf(key: string) {
  const parts = keyForms(key).flatMap(({ whole, head, start }) => [
    whole,
    head,
    start,
    start.slice(0, -1),
    whole.slice(1),
  ]);
  const noise = fc.constantFrom("", " ", "a", "word ", "\n", "é", "🌍", '"', "\\", "/");
  const part = fc.tuple(fc.constantFrom(...parts), fc.nat(), fc.nat()).map(([text, from, length]) => {
    const at = from % text.length;
    return text.slice(at, at + 1 + (length % text.length));
  });
  return fc.array(fc.oneof({ weight: 3, arbitrary: part }, noise, fc.constantFrom(...parts)), { maxLength: 12 });
}

/** The same guard without the finder: it follows each form through every piece. */
function withoutFinder(key: string) {
  const guard = createAnswerGuard({ rule: "key", value: key });
  return guard === undefined ? undefined : Object.assign(guard, { finder: undefined });
}

describe("the guard of the gateway's own key", () => {
  for (const key of keys) {
    const guard = createAnswerGuard({ rule: "key", value: key });
    test(`gives out the same text of ${JSON.stringify(key)} whether or not pieces pass unread`, () => {
      fc.assert(
        fc.property(piecesOf(key), fc.boolean(), (pieces, escaped) => {
          const [quick, pushed, plain] = [guard?.stream(), guard?.stream(), withoutFinder(key)?.stream()];
          let [out, outPushed, expected] = ["", "", ""];
          for (const piece of pieces) {
            const json = JSON.stringify(piece).slice(1, -1);
            const written = escaped
              ? json.replace(/[a-z]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`)
              : json;
            // The letters of escapes that JSON writes, such as `\\n`, are no letters of the text.
            const unchanged = quick?.passesUnchanged(json.includes("\\") ? json : written) === true;
            out += unchanged ? piece : quick?.push(piece);
            outPushed += pushed?.push(piece);
            expected += plain?.push(piece);
          }
          expected += plain?.flush();
          expect(out + quick?.flush()).toBe(expected);
          expect(outPushed + pushed?.flush()).toBe(expected);
        }),
        { numRuns: 200 },
      );
    });
  }

  test.each(keys)("gives out the same text of %s if pieces in a row pass together", (key) => {
    const guard = createAnswerGuard({ rule: "key", value: key });
    fc.assert(
      // Other text before and between them, which may look like the key as well.
      fc.property(
        piecesOf(key),
        fc.constantFrom("", "x", key),
        fc.constantFrom("", "y", key),
        (pieces, before, between) => {
          const [together, plain] = [guard?.stream(), withoutFinder(key)?.stream()];
          const written = pieces.map((piece) => JSON.stringify(piece).slice(1, -1));
          let json = before;
          const ends = written.map((piece) => {
            json += piece;
            const end = json.length;
            json += between;
            return end;
          });
          const row = { json, ends, first: before.length, gap: between.length };
          let out = "";
          for (let at = 0; at < pieces.length; at++) {
            const to = together?.passUnchanged(row, at) ?? at;
            out += pieces.slice(at, to).join("") + (to < pieces.length ? together?.push(pieces[to] ?? "") : "");
            at = to;
          }
          const expected = pieces.map((piece) => plain?.push(piece)).join("") + plain?.flush();
          expect(out + together?.flush()).toBe(expected);
        },
      ),
      { numRuns: 200 },
    );
  });

  test.each(keys)("takes %s out of long texts as it does out of the same in short pieces", (key) => {
    const guard = createAnswerGuard({ rule: "key", value: key });
    const filler = fc.constantFrom("", "of no matter, ".repeat(5_000), "é\u{1f30d}/".repeat(20_000));
    fc.assert(
      fc.property(fc.array(fc.tuple(filler, piecesOf(key), filler), { minLength: 1, maxLength: 3 }), (longs) => {
        const [long, short] = [guard?.stream(), withoutFinder(key)?.stream()];
        let [out, expected] = ["", ""];
        for (const [before, pieces, behind] of longs) {
          const text = before + pieces.join("") + behind;
          const isWithout = guard?.mayContainKey(JSON.stringify(text)) === false && !/["\\]/.test(text);
          out += isWithout ? long?.pushWithout(text) : long?.push(text);
          for (let at = 0; at < text.length; at += 60_000) expected += short?.push(text.slice(at, at + 60_000));
        }
        expect(out + long?.flush()).toBe(`${expected}${short?.flush()}`);
      }),
      { numRuns: 60 },
    );
  });

  test("passes text without the key, and remembers an unfinished beginning of the key at its end", () => {
    const stream = createAnswerGuard({ rule: "key", value: "sk-or-v1-0123456789abcdef" })?.stream();
    expect(stream?.passesUnchanged("nothing of it, s, sk, sk")).toBe(true);
    expect(stream?.passesUnchanged("-o")).toBe(false);
    expect(stream?.push("-or-v1-0123456789abcdef.")).toBe("[REDACTED:key:1].");
  });
});

test("the finder finds a beginning wherever the pieces are cut, and in no other text", () => {
  const starts = ["aab", "aaa", "ba", "\n/x"];
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "\n", "/", "x", "é", "🌍"), maxLength: 4 });
  fc.assert(
    fc.property(fc.array(letters, { maxLength: 6 }), fc.boolean(), (pieces, asJson) => {
      const finder = StartFinder.of(starts);
      let state = 0;
      for (const piece of pieces) {
        if (finder === undefined || state < 0) break;
        state = asJson ? finder.afterJson(state, JSON.stringify(piece).slice(1, -1)) : finder.after(state, piece);
      }
      const text = pieces.join("");
      expect(state < 0).toBe(starts.some((start) => text.includes(start)));
      if (state >= 0) expect(text.endsWith(finder?.beginningOf(state) ?? "?")).toBe(true);
    }),
    { numRuns: 200 },
  );
  expect(StartFinder.of(["ä"])).toBeUndefined();
});
