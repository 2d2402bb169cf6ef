import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createAnswerGuard, keyForms } from "./answer-guard.ts";

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

describe.each(keys)("the guard of the gateway's own key, %s", (key) => {
  const guard = createAnswerGuard({ rule: "key", value: key });
  const heads = keyForms(key).map(({ head }) => head);

  test("is in no text, wherever that is cut, and whether or not pieces pass unread", () => {
    fc.assert(
      // Other text before and between the pieces, which may look like the key as well.
      fc.property(
        piecesOf(key),
        fc.constantFrom("", "x", key),
        fc.constantFrom("", "y", key),
        (pieces, before, gap) => {
          const [pushed, passing] = [guard?.stream(), guard?.stream()];
          let json = before;
          const ends = pieces.map((piece) => {
            json += JSON.stringify(piece).slice(1, -1);
            const end = json.length;
            json += gap;
            return end;
          });
          const row = { json, ends, first: before.length, gap: gap.length };
          let [out, outPassing] = ["", ""];
          for (const piece of pieces) out += pushed?.push(piece);
          for (let at = 0; at < pieces.length; at++) {
            if (passing?.passUnchanged(row, at) === true) {
              outPassing += pieces.slice(at).join("");
              break;
            }
            outPassing += passing?.push(pieces[at] ?? "");
          }
          out += pushed?.flush();
          expect(outPassing + passing?.flush()).toBe(out);
          for (const text of [out, String(guard?.text(pieces.join("")))])
            expect(heads.filter((head) => text.includes(head))).toEqual([]);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("passes what has no part of it, and remembers an unfinished beginning of it", () => {
    const stream = guard?.stream();
    const json = JSON.stringify(`nothing of it, ${key.slice(0, 3)}`);
    expect(stream?.passUnchanged({ json, ends: [json.length - 1], first: 1, gap: 0 }, 0)).toBe(true);
    expect(stream?.push(`${key.slice(3)}.`)).toBe("[REDACTED:key:1].");
  });
});
