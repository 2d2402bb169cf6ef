import { block, br, type Code, i32, i64, loop, type Variables, wasmModule, when } from "#platform/wasm/assembler.ts";

/**
 * SipHash-2-4 with 128 bits of output (https://github.com/veorq/SipHash): a keyed hash made for short input that is chosen by somebody
 * who does not know the key. The runtime offers none that takes less than a microsecond for a few hundred bytes. One function over
 * one memory, which callers fill and read at once.
 */
const keyAt = 0;
const hashAt = 16;
const inputAt = 32;

/** Most bytes that can be hashed. */
export const maxInputBytes = 65_536 - inputAt - 8; // a last piece of eight bytes is read behind them

const state = ["v0", "v1", "v2", "v3"] as const;

const module = wasmModule({
  name: "hash",
  /** Bytes to hash. */
  parameters: ["length"],
  i32: ["at", "end"],
  v128: [],
  i64: [...state, "piece"],
  body: (variables) => {
    const { get, set, add } = variables;
    const xor = (name: string, value: Code) => set(name, i64.xor(get(name), value));
    const rounds = (count: number) => Array.from({ length: count }, () => round(variables)).flat();
    const takePiece = [xor("v3", get("piece")), ...rounds(2), xor("v0", get("piece"))];
    const begins = [0x736f6d6570736575n, 0x646f72616e646f6dn ^ 0xeen, 0x6c7967656e657261n, 0x7465646279746573n];
    const output = i64.xor(i64.xor(get("v0"), get("v1")), i64.xor(get("v2"), get("v3")));
    const restBits = i64.from(i32.shiftLeft(i32.and(get("length"), i32.const(7)), 3));
    return [
      ...state.map((name, index) =>
        set(name, i64.xor(i64.const(begins[index] ?? 0n), i64.load(i32.const(keyAt + 8 * (index % 2))))),
      ),
      set("at", i32.const(inputAt)),
      set("end", i32.add(get("at"), i32.and(get("length"), i32.const(-8)))),
      block(
        "whole pieces",
        loop(
          "pieces",
          when(i32.equals(get("at"), get("end")), br("whole pieces")),
          set("piece", i64.load(get("at"))),
          ...takePiece,
          add("at", 8),
          br("pieces"),
        ),
      ),
      // What is left, and the length in the last byte.
      set("piece", i64.subtract(i64.shiftLeft(i64.const(1n), restBits), i64.const(1n))),
      set("piece", i64.and(get("piece"), i64.load(get("at")))),
      set("piece", i64.or(get("piece"), i64.shiftLeft(i64.from(get("length")), i64.const(56n)))),
      ...takePiece,
      xor("v2", i64.const(0xeen)),
      ...rounds(4),
      i64.store(i32.const(hashAt), output),
      xor("v1", i64.const(0xddn)),
      ...rounds(4),
      i64.store(i32.const(hashAt), output, 8),
      i32.const(0),
    ];
  },
});

function round({ get, set }: Variables): readonly Code[] {
  const add = (a: string, b: string) => set(a, i64.add(get(a), get(b)));
  const mix = (a: string, b: string, bits: number) => set(a, i64.xor(i64.rotateLeft(get(a), bits), get(b)));
  const rotate = (a: string) => set(a, i64.rotateLeft(get(a), 32));
  return [
    ...[add("v0", "v1"), mix("v1", "v0", 13), rotate("v0"), add("v2", "v3"), mix("v3", "v2", 16)],
    ...[add("v0", "v3"), mix("v3", "v0", 21), add("v2", "v1"), mix("v1", "v2", 17), rotate("v2")],
  ];
}

const memory = new WebAssembly.Memory({ initial: 1 });
const { hash } = new WebAssembly.Instance(new WebAssembly.Module(module), { env: { memory } }).exports as {
  hash: (length: number) => number;
}; // as the module exports it
const keyInMemory = new Uint32Array(memory.buffer, keyAt, 4);
const hashInMemory = Buffer.from(memory.buffer, hashAt, 16);

/** What is to be hashed is written here. */
export const hashInput: Buffer = Buffer.from(memory.buffer, inputAt, maxInputBytes);

/** The hash of the first bytes of `hashInput`: 16 characters, one for each byte. The key has four numbers. */
export function sipHash(key: Uint32Array, length: number): string {
  if (length > maxInputBytes) throw new RangeError("too long to be hashed");
  for (let at = 0; at < keyInMemory.length; at++) keyInMemory[at] = key[at] ?? 0;
  hash(length);
  return hashInMemory.toString("latin1");
}
