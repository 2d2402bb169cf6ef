import { expect, test } from "bun:test";
import { hashInput, maxInputBytes, sipHash } from "./sip-hash.ts";

const key = new Uint32Array(Uint8Array.from({ length: 16 }, (_, index) => index).buffer);

function hashOf(length: number): string {
  for (let at = 0; at < length; at++) hashInput[at] = at;
  // What stands behind the input does not count.
  hashInput[length] = 0xff;
  return Buffer.from(sipHash(key, length), "latin1").toString("hex");
}

// `vectors_sip128` of the authors' reference implementation: key 00 01 … 0f, input 00 01 … of each length.
for (const [length, expected] of [
  [0, "a3817f04ba25a8e66df67214c7550293"],
  [1, "da87c1d86b99af44347659119b22fc45"],
  [2, "8177228da4a45dc7fca38bdef60affe4"],
  [3, "9c70b60c5267a94e5f33b6b02985ed51"],
  [4, "f88164c12d9c8faf7d0f6e7c7bcd5579"],
  [5, "1368875980776f8854527a07690e9627"],
  [6, "14eeca338b208613485ea0308fd7a15e"],
  [7, "a1f1ebbed8dbc153c0b84aa61ff08239"],
  [8, "3b62a9ba6258f5610f83e264f31497b4"],
  [9, "264499060ad9baabc47f8b02bb6d71ed"],
  [15, "5493e99933b0a8117e08ec0f97cfc3d9"],
  [16, "6ee2a4ca67b054bbfd3315bf85230577"],
  [17, "473d06e8738db89854c066c47ae47740"],
  [31, "2939b0183223fafc1723de4f52c43d35"],
  [32, "7c3956ca5eeafc3e363e9d556546eb68"],
  [63, "5150d1772f50834a503e069a973fbd7c"],
] as const) {
  test(`hashes ${length} bytes as the reference does`, () => {
    expect(hashOf(length)).toBe(expected);
  });
}

test("refuses to hash more bytes than there are", () => {
  expect(() => sipHash(key, maxInputBytes + 1)).toThrow(RangeError);
  expect(sipHash(key, maxInputBytes)).toHaveLength(16);
});
