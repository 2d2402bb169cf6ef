import { expect, test } from "bun:test";
import { freeBytes } from "./read-body.ts";

const held = { growTo: () => true, release: () => {} };
const freed = (bytes: Uint8Array) => {
  freeBytes({ kind: "ok", bytes, held });
  return bytes.byteLength === 0;
};

test("the bytes of a body are freed, unless they are few or share their buffer with something else", () => {
  expect(freed(new Uint8Array(100_000))).toBe(true);
  expect(freed(new Uint8Array(100))).toBe(false);
  expect(freed(new Uint8Array(200_000).subarray(100_000))).toBe(false);
  expect(freed(new Uint8Array(new SharedArrayBuffer(100_000)))).toBe(false);
});
