import {
  block,
  br,
  bytes16,
  type Code,
  i32,
  loop,
  returns,
  type Variables,
  wasmModule,
  when,
} from "#platform/wasm/assembler.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;

/** A long string of a JSON text. */
export interface LongString {
  /** Its place in the bytes, between its quotes. */
  readonly from: number;
  readonly to: number;
  /** What it says. */
  readonly text: string;
}

/** Strings that are found in one text at most. */
const maxStrings = 64;
/** What is stored of each: where it begins and ends, the same of its text, and whether that is ASCII. */
const bytesPerString = 20;
/** The character that each byte behind a backslash stands for, 0 for none; then the value of each hexadecimal digit. */
const escapesAt = 0;
const digitsAt = 256;
const stringsAt = 512;
const textAt = 2_048;
/** Bytes that are read or written beyond the end. */
const margin = 64;
const noDigit = 0x10;
const failed = returns(i32.const(-1));

/**
 * Reads one string after the other and writes what each says. A block of 32 bytes is written as it stands; at each escape sequence in it, all
 * behind that is written again, further to the front. So no block waits for what was found in the one before it.
 */
const findStringsCode = wasmModule({
  name: "findStrings",
  parameters: ["at", "end", "to", "minLength"],
  // `shift`: from a place in the JSON to where it is written; `mask`: what of the block is not yet dealt with; `place`: of the next of these.
  i32: ["open", "shift", "mask", "place", "c", "second", "found", "beyondAscii"],
  v128: ["low", "high"],
  body: (variables) => {
    const { get, set, add } = variables;
    const isAtEnd = i32.isAtLeast(get("at"), get("end"));
    return [
      set("found", i32.const(stringsAt)),
      loop(
        "strings",
        loop(
          "search",
          when(isAtEnd, returns(get("found"))),
          set("mask", bytes16.highBits(bytes16.equals(bytes16.load(get("at")), bytes16.const(QUOTE)))),
          when(i32.isZero(get("mask")), add("at", 16), br("search")),
        ),
        set("at", i32.add(get("at"), i32.trailingZeros(get("mask")))),
        when(isAtEnd, returns(get("found"))),
        add("at", 1),
        set("open", get("at")),
        set("shift", i32.subtract(get("to"), get("at"))),
        set("beyondAscii", i32.const(0)),
        block("closed", loop("blocks", ...readBlock(variables), loop("places", ...readPlace(variables)))),
        ...noteLongString(variables),
        set("at", i32.add(get("place"), i32.const(1))),
        br("strings"),
      ),
      i32.const(-1),
    ];
  },
});

/** Writes a block, and finds the quotes, backslashes and control characters in it. */
function readBlock({ get, set }: Variables): readonly Code[] {
  const places = (piece: Code) =>
    bytes16.highBits(
      bytes16.or(
        bytes16.or(bytes16.equals(piece, bytes16.const(QUOTE)), bytes16.equals(piece, bytes16.const(BACKSLASH))),
        bytes16.isLess(piece, bytes16.const(0x20)),
      ),
    );
  const target = i32.add(get("at"), get("shift"));
  return [
    set("low", bytes16.load(get("at"))),
    set("high", bytes16.load(get("at"), 16)),
    bytes16.store(target, get("low")),
    bytes16.store(target, get("high"), 16),
    set("beyondAscii", i32.or(get("beyondAscii"), bytes16.highBits(bytes16.or(get("low"), get("high"))))),
    set("mask", i32.or(places(get("low")), i32.shiftLeft(places(get("high")), 16))),
  ];
}

/** Goes to the next of these places: the end of the string, or an escape sequence. */
function readPlace(variables: Variables): readonly Code[] {
  const { get, set, add } = variables;
  const target = targetOf(variables);
  return [
    when(i32.isZero(get("mask")), add("at", 32), br("blocks")),
    set("place", i32.add(get("at"), i32.trailingZeros(get("mask")))),
    set("c", i32.load8(get("place"))),
    when(i32.equals(get("c"), i32.const(QUOTE)), br("closed")),
    // A control character, or the zeros behind the end.
    when(i32.differs(get("c"), i32.const(BACKSLASH)), failed),
    set("c", i32.load8(i32.load8(get("place"), 1), escapesAt)),
    when(
      get("c"),
      i32.store8(target, get("c")),
      bytes16.store(target, bytes16.load(get("place"), 2), 1),
      bytes16.store(target, bytes16.load(get("place"), 18), 17),
      add("shift", -1),
      // Without this backslash, and without the next character, which may be one of those looked for.
      set("mask", i32.and(get("mask"), i32.subtract(get("mask"), i32.const(1)))),
      set("c", i32.subtract(get("place"), get("at"))),
      when(i32.equals(get("c"), i32.const(31)), add("at", 33), br("blocks")),
      set("mask", i32.and(get("mask"), i32.rotateLeft(i32.const(-3), get("c")))),
      br("places"),
    ),
    when(i32.differs(i32.load8(get("place"), 1), i32.const(LOWER_U)), failed),
    ...readCode(variables),
  ];
}

/** `\uXXXX`, or two of them for a character beyond 16 bits, written as UTF-8; the next block begins behind it. */
function readCode(variables: Variables): readonly Code[] {
  const { get, set, add } = variables;
  const write = (value: Code, offset: number) => i32.store8(targetOf(variables), value, offset);
  const sixBits = (from: number) => i32.or(i32.const(0x80), i32.and(i32.shiftRight(get("c"), from), i32.const(0x3f)));
  const goOn = (read: number, written: number) => [
    add("shift", written - read),
    set("at", i32.add(get("place"), i32.const(read))),
    br("blocks"),
  ];
  return [
    ...readDigits("c", 2, variables),
    when(i32.isLess(get("c"), i32.const(0x80)), write(get("c"), 0), ...goOn(6, 1)),
    set("beyondAscii", i32.const(1)),
    when(
      i32.isLess(get("c"), i32.const(0x800)),
      write(i32.or(i32.const(0xc0), i32.shiftRight(get("c"), 6)), 0),
      write(sixBits(0), 1),
      ...goOn(6, 2),
    ),
    when(
      i32.differs(i32.and(get("c"), i32.const(0xf800)), i32.const(0xd800)),
      write(i32.or(i32.const(0xe0), i32.shiftRight(get("c"), 12)), 0),
      write(sixBits(6), 1),
      write(sixBits(0), 2),
      ...goOn(6, 3),
    ),
    // The first half of a character, and the second. Half a character alone is rare, and left to the parser.
    when(i32.differs(i32.load8(get("place"), 6), i32.const(BACKSLASH)), failed),
    when(i32.differs(i32.load8(get("place"), 7), i32.const(LOWER_U)), failed),
    ...readDigits("second", 8, variables),
    when(i32.differs(i32.and(get("c"), i32.const(0xfc00)), i32.const(0xd800)), failed),
    when(i32.differs(i32.and(get("second"), i32.const(0xfc00)), i32.const(0xdc00)), failed),
    set("c", i32.shiftLeft(i32.and(get("c"), i32.const(0x3ff)), 10)),
    set("c", i32.add(i32.const(0x10000), i32.or(get("c"), i32.and(get("second"), i32.const(0x3ff))))),
    write(i32.or(i32.const(0xf0), i32.shiftRight(get("c"), 18)), 0),
    write(sixBits(12), 1),
    write(sixBits(6), 2),
    write(sixBits(0), 3),
    ...goOn(12, 4),
  ];
}

/** The number that four hexadecimal digits behind `place` write. */
function readDigits(variable: string, offset: number, { get, set }: Variables): readonly Code[] {
  const digit = (index: number) => i32.load8(i32.load8(get("place"), offset + index), digitsAt);
  return [
    when(i32.and(i32.or(i32.or(digit(0), digit(1)), i32.or(digit(2), digit(3))), i32.const(noDigit)), failed),
    set(
      variable,
      i32.or(
        i32.or(i32.shiftLeft(digit(0), 12), i32.shiftLeft(digit(1), 8)),
        i32.or(i32.shiftLeft(digit(2), 4), digit(3)),
      ),
    ),
  ];
}

/** Adds the string that ends at `place` to those found, if it is long enough; if not, the next one is written in its place. */
function noteLongString(variables: Variables): readonly Code[] {
  const { get, set, add } = variables;
  const target = targetOf(variables);
  return [
    when(
      i32.isAtLeast(i32.subtract(get("place"), get("open")), get("minLength")),
      i32.store(get("found"), get("open")),
      i32.store(get("found"), get("place"), 4),
      i32.store(get("found"), get("to"), 8),
      i32.store(get("found"), target, 12),
      i32.store(get("found"), get("beyondAscii"), 16),
      add("found", bytesPerString),
      set("to", target),
      when(i32.isAtLeast(get("found"), i32.const(stringsAt + maxStrings * bytesPerString)), returns(get("found"))),
    ),
  ];
}

/** Where the character at `place` is written. */
function targetOf({ get }: Variables): Code {
  return i32.add(get("place"), get("shift"));
}

/** @returns where the list of what was found ends; -1 where something is no JSON, or for the parser to read */
type FindStrings = (at: number, end: number, to: number, minLength: number) => number;

/** Finds the long strings of JSON texts. Keeps the memory that the longest so far has needed. */
export class LongStrings {
  readonly #module = compiled();
  #findStrings: FindStrings | undefined;
  #buffer = Buffer.alloc(0);

  /**
   * The first long strings of a JSON text, with what they say; undefined where they are for the parser to read. They say what the parser would
   * make of them if all that is outside of them is JSON.
   * @param json UTF-8
   * @param minLength in bytes
   */
  in(json: Uint8Array, minLength: number): readonly LongString[] | undefined {
    const findStrings = this.#finderFor(json.length);
    if (findStrings === undefined) return undefined;
    const buffer = this.#buffer;
    const end = textAt + json.length;
    buffer.set(json, textAt);
    buffer.fill(0, end, end + margin);
    const found = findStrings(textAt, end, end + margin, minLength);
    if (found < 0) return undefined;
    const strings: LongString[] = [];
    for (let at = stringsAt; at < found; at += bytesPerString) {
      const text = textOf(
        buffer.subarray(buffer.readInt32LE(at + 8), buffer.readInt32LE(at + 12)),
        buffer.readInt32LE(at + 16) !== 0,
      );
      if (text === undefined) return undefined;
      strings.push({ from: buffer.readInt32LE(at) - textAt, to: buffer.readInt32LE(at + 4) - textAt, text });
    }
    return strings;
  }

  #finderFor(length: number): FindStrings | undefined {
    const size = textAt + 2 * (length + margin);
    if (this.#module === undefined || this.#buffer.length >= size) return this.#findStrings;
    const memory = new WebAssembly.Memory({ initial: Math.ceil(size / pageBytes) });
    const { exports } = new WebAssembly.Instance(this.#module, { env: { memory } });
    this.#findStrings = exports["findStrings"] as FindStrings; // the only export
    this.#buffer = Buffer.from(memory.buffer);
    for (const [letter, character] of escapes) this.#buffer[escapesAt + letter.charCodeAt(0)] = character.charCodeAt(0);
    this.#buffer.fill(noDigit, digitsAt, digitsAt + 256);
    for (let digit = 0; digit < 16; digit++) {
      const letter = digit.toString(16);
      for (const written of [letter, letter.toUpperCase()]) this.#buffer[digitsAt + written.charCodeAt(0)] = digit;
    }
    return this.#findStrings;
  }
}

const pageBytes = 65_536;
const escapes = Object.entries({ '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" });

/** Undefined where the processor lacks the instructions. */
function compiled(): WebAssembly.Module | undefined {
  try {
    return new WebAssembly.Module(findStringsCode);
  } catch {
    return undefined;
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(bytes: Buffer, mayBeBeyondAscii: boolean): string | undefined {
  if (!mayBeBeyondAscii) return bytes.toString("latin1");
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
