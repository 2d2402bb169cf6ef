import { br, bytes16, type Code, i32, i64, loop, type Variables, wasmModule, when } from "#platform/wasm/assembler.ts";

const capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** What a byte is, as bits. A bit belongs to bytes whose upper halves are the same, or whose lower halves are as well. */
const kinds: readonly (readonly [bit: number, characters: string])[] = [
  [0x01, "-"],
  [0x02, "0123456789"],
  [0x04, `${capitals.slice(0, 15)}${capitals.slice(0, 15).toLowerCase()}`],
  [0x08, `${capitals.slice(15)}_`],
  [0x10, capitals.slice(15).toLowerCase()],
  [0x20, "+/"],
  [0x40, "="],
];
const inToken = 0x1f;
const isSymbol = 0x20;

/** The bits of a byte are those that the entries of both of its halves have. */
const byLowerHalf = new Array<number>(16).fill(0);
const byUpperHalf = new Array<number>(16).fill(0);
for (const [bit, characters] of kinds) {
  for (const character of characters) {
    const code = character.charCodeAt(0);
    byLowerHalf[code & 15] = (byLowerHalf[code & 15] ?? 0) | bit;
    byUpperHalf[code >> 4] = (byUpperHalf[code >> 4] ?? 0) | bit;
  }
}

/**
 * Writes a bit for each byte from `at` to `end`, 32 at a step: 1 where 16 bytes of a token begin, and at each `+` or `/` with which 16 bytes of
 * base64 begin. No step waits for what was found in the one before. Bits are those of what a byte is not until they are written.
 */
export const markRunsCode = wasmModule({
  name: "markRuns",
  parameters: ["at", "end", "to"],
  i32: ["signs", "nextSigns"],
  i64: ["outsideTokens", "outsideBase64", "starts", "signStarts"],
  v128: ["low", "high"],
  body: (variables) => {
    const { get, set, add } = variables;
    const starts = i32.or(i64.toI32(get("signStarts")), get("signs"));
    return [
      // Each step writes the bits of the one before it.
      add("to", -4),
      loop(
        "steps",
        set("signs", get("nextSigns")),
        set("low", kindsOf(bytes16.load(get("at")))),
        set("high", kindsOf(bytes16.load(get("at"), 16))),
        set("nextSigns", bitsWithout(isSymbol, variables)),
        push("outsideTokens", bitsWithout(inToken, variables), variables),
        push("outsideBase64", bitsWithout(0xff, variables), variables),
        ...within16("starts", get("outsideTokens"), variables),
        ...within16("signStarts", get("outsideBase64"), variables),
        i32.store(get("to"), i32.not(i32.and(i64.toI32(get("starts")), starts))),
        add("at", 32),
        add("to", 4),
        when(i32.isLess(get("at"), i32.add(get("end"), i32.const(32))), br("steps")),
      ),
      i32.const(0),
    ];
  },
});

/** What each of sixteen bytes is. */
function kindsOf(bytes: Code): Code {
  return bytes16.and(
    bytes16.lookUp(bytes16.table(byLowerHalf), bytes16.and(bytes, bytes16.const(0x0f))),
    bytes16.lookUp(bytes16.table(byUpperHalf), bytes16.upperHalves(bytes)),
  );
}

/** A bit for each of 32 bytes: 1 for those that are nothing of that kind. */
function bitsWithout(kind: number, { get }: Variables): Code {
  const bits = (name: string) =>
    bytes16.highBits(bytes16.equals(bytes16.and(get(name), bytes16.const(kind)), bytes16.const(0)));
  return i32.or(bits("low"), i32.shiftLeft(bits("high"), 16));
}

/** Adds 32 bits behind the 32 that were added last. */
function push(name: string, bits: Code, { get, set }: Variables): Code {
  return set(name, i64.or(i64.shiftRight(get(name), 32), i64.shiftLeft(i64.from(bits), i64.const(32n))));
}

/** Sets each bit that is set in one of the 16 places from its own on. */
function within16(name: string, bits: Code, { get, set }: Variables): readonly Code[] {
  return [
    set(name, bits),
    ...[1, 2, 4, 8].map((count) => set(name, i64.or(get(name), i64.shiftRight(get(name), count)))),
  ];
}
