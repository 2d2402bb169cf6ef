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

test("texts that are equal in UTF-8 but differ in characters have different tags", () => {
  // A lone surrogate has no bytes of its own in UTF-8; it is encoded as U+FFFD.
  const texts = ["\ud800", "\ufffd", "\udc00", "\ud83d\ude00", "\ude00\ud83d", "", "\0"];
  expect(new Set(texts.map((text) => tags.ofText(text))).size).toBe(texts.length);
});

test("the same bytes in another encoding have another tag", () => {
  const bytes = Buffer.from("ab\0\0");
  const variants = [
    tags.ofText("ab\0\0"),
    tags.ofText("\u6261\u0000"),
    tags.ofBytes(bytes),
    tags.ofText("é"),
    tags.ofText("\u00c3\u00a9"),
  ];
  expect(new Set(variants).size).toBe(variants.length);
  expect(tags.ofBytes(Buffer.from("ab\0\0"))).toBe(tags.ofBytes(bytes));
});

test("each memory has a key of its own", () => {
  expect(new TextTags().ofText(long)).not.toBe(tags.ofText(long));
});
