import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ColumnPacker, ColumnReader } from "./packed-columns.ts";

function readBack(columns: readonly (readonly number[])[]) {
  const packer = new ColumnPacker(1);
  const packed = columns.map((each) => packer.packed({ each }));
  const reader = new ColumnReader(Buffer.from(packer.bytes));
  return packed.map((column, at) => reader.column(column, columns[at]?.length ?? 0));
}

test.each([1, 2, 3, 4, 5, 6])("whole numbers whose differences have %i bytes are read back", (bytes) => {
  const most = 256 ** bytes - 1;
  const each = [7, 7 + most, 8, 7 + Math.floor(most / 3), 7 + Math.floor(most / 257)];
  expect(readBack([each, [1, 2], each])).toEqual([{ each }, { each: [1, 2] }, { each }]);
});

test("numbers of any size, whole, in thousandths or with more places, are read back unchanged", () => {
  const whole = fc.integer({ min: -(2 ** 50), max: 2 ** 50 });
  const small = fc.integer({ min: -300, max: 70_000 });
  const thousandths = fc.integer({ min: 0, max: 1e9 }).map((n) => n / 1_000);
  const any = fc.double({ noNaN: true, noDefaultInfinity: true });
  const column = fc.oneof(...[whole, small, thousandths, any].map((kind) => fc.array(kind, { minLength: 1 })));
  fc.assert(
    fc.property(fc.array(column, { minLength: 1, maxLength: 4 }), (columns) => {
      // Adding 0 makes 0 of -0, which no record has.
      const given = columns.map((values) => values.map((value) => value + 0));
      expect(readBack(given)).toEqual(given.map((each) => ({ each })));
    }),
  );
});

describe("ids", () => {
  const ids = ["00112233-4455-6677-8899-aabbccddeeff", "ffffffff-ffff-ffff-ffff-fffffffffff0"];
  const packed = (each: readonly string[]) => new ColumnPacker(1).packed({ each });

  test("that are UUIDs take sixteen bytes and are read back", () => {
    fc.assert(
      fc.property(fc.array(fc.uuid(), { minLength: 1 }), (each) => {
        const packer = new ColumnPacker(1);
        const column = packer.packed({ each });
        expect(column).toEqual({ uuids: true });
        expect(packer.bytes.length).toBe(16 * each.length);
        expect(new ColumnReader(Buffer.from(packer.bytes)).column(column, each.length)).toEqual({ each });
      }),
    );
  });

  test("with any other character than a small digit or a dash in its place stay texts", () => {
    for (let at = 0; at < 36; at++) {
      for (let code = 0; code < 0x180; code++) {
        const character = String.fromCharCode(code);
        const wanted = at === 8 || at === 13 || at === 18 || at === 23 ? /-/ : /[0-9a-f]/;
        const each = [...ids, `${ids[0]?.slice(0, at)}${character}${ids[0]?.slice(at + 1)}`];
        expect(packed(each)).toEqual(wanted.test(character) ? { uuids: true } : { each });
      }
    }
  });

  test("of other lengths stay texts, also where together they are as long as UUIDs", () => {
    const [first = "", second = ""] = ids;
    const each = [first, first.slice(0, -1), `${first.slice(-1)}${second}`];
    expect(packed(each)).toEqual({ each });
    expect(packed([first, "é".padEnd(35, "0")])).toEqual({ each: [first, "é".padEnd(35, "0")] });
  });
});
