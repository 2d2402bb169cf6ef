import { expect, test } from "bun:test";
import { TextTags } from "./text-tags.ts";

const tags = new TextTags();
const long = "const answer = 42; // and some more of it\n".repeat(5_000);

test("equal texts have equal tags, whatever was tagged in between", () => {
  const before = tags.ofText(long);
  tags.ofText("something else");
  expect(tags.ofText(`${long}`)).toBe(before);
  expect(before).toHaveLength(16);
});

test("texts that differ in one place have different tags", () => {
  const texts = [long, `${long} `, `${long}\0`, ` ${long}`, long.replace("4", "5"), `${long.slice(0, -1)}\r`];
  expect(new Set(texts.map((text) => tags.ofText(text))).size).toBe(texts.length);
});

for (const [length, filling] of [
  ["short", ""],
  ["long", "z".repeat(5_000)],
  ["very long", "z".repeat(200_000)],
  ["longest", "z".repeat(500_000)],
  ["full of others", "\u6807".repeat(150_000)],
]) {
  test(`texts that are equal in UTF-8 but differ in characters have different tags, ${length} texts`, () => {
    // A lone surrogate has no bytes of its own in UTF-8; it is encoded as U+FFFD.
    const ends = ["\ud800", "\ufffd", "\udc00", "\ud83d\ude00", "\ude00\ud83d", "", "\0", "\uff0c", "\uff0c\ufffd"];
    const texts = ends.map((end) => filling + end);
    expect(new Set(texts.map((text) => tags.ofText(text))).size).toBe(texts.length);
    expect(texts.map((text) => tags.ofText(text))).toEqual(texts.map((text) => tags.ofText(text)));
  });
}

// Tags of short texts are made in another way than those of long ones.
for (const [length, filling] of [
  ["short", ""],
  ["long", "z".repeat(5_000)],
]) {
  test(`the same bytes in another encoding have another tag, ${length} texts`, () => {
    const inUtf16 = Buffer.from(`ab\0\0${filling}`).toString("utf16le");
    const ofBytes = tags.ofBytes(Buffer.from(`ab\0\0${filling}`));
    const variants = [
      ofBytes,
      tags.ofText(`ab\0\0${filling}`),
      tags.ofText(inUtf16),
      tags.ofText(`é${filling}`),
      tags.ofText(`\u00c3\u00a9${filling}`),
    ];
    expect(new Set(variants).size).toBe(variants.length);
    expect(tags.ofBytes(Buffer.from(`ab\0\0${filling}`))).toBe(ofBytes);
  });
}

test("texts that differ in length alone have different tags, also where tags begin to be made in another way", () => {
  const lengths = Array.from({ length: 1_100 }, (_, index) => index);
  const texts = lengths.flatMap((length) => ["a".repeat(length), `${"a".repeat(length)}\u20ac`]);
  expect(new Set(texts.map((text) => tags.ofText(text))).size).toBe(texts.length);
  expect(texts.map((text) => tags.ofText(text))).toEqual(texts.map((text) => tags.ofText(text)));
});

test("every short text that is not ASCII is told from its bytes, however full the room for it is", () => {
  const texts = ["\u20ac", "\ud800", "\ud83d\ude00", "\u00e9"].map((sign) => sign.repeat(1_024 / sign.length));
  const spelled = texts.map((text) => Buffer.from(text).toString("latin1").slice(0, 1_024));
  expect(new Set([...texts, ...spelled].map((text) => tags.ofText(text))).size).toBe(2 * texts.length);
});

test("the tag of a short text does not depend on a longer text that was tagged before it", () => {
  const before = tags.ofText("a".repeat(300));
  tags.ofText("b".repeat(1_000));
  expect(tags.ofText("a".repeat(300))).toBe(before);
});

test("each memory has a key of its own", () => {
  for (const text of [long, "a short text"]) expect(new TextTags().ofText(text)).not.toBe(tags.ofText(text));
});
