import { block, br, type Code, i32, loop, type Variables, wasmModule, when } from "#platform/wasm/assembler.ts";
import { betweenWords, inWord } from "./term-characters.ts";

/** Most characters of a text that are scanned. */
export const maxScannedCharacters = 4_096;

/** What stands where in the memory, in bytes. The characters before and behind the text are 0. */
const wordsAt = 0;
const distinctWordsAt = 4;
const textAt = 16;
const seenAt = 12_288;
const foundAt = 16_384;
const lettersAt = 65_536;
const trieAt = 3 * 65_536;
const pages = 12;

/** Different words are known by so many bits of their hashes; there is a byte for each. A power of two. */
const seenSize = 4_096;
/** A letter: its number, and above it its class. */
const classShift = 14;
/** Most slots of a trie, and a bit above their numbers. */
export const maxSlots = 0x1_0000;
/** A slot of the trie: the base of its children, and above it what ends there. */
const baseMask = 0xffff;
const wholeWord = 0x1_0000;
const beginOfWord = 0x2_0000;
const wholeIsSkipped = 0x4_0000;
const beginIsSkipped = 0x8_0000;
/** A found term: its slot, and above it whether it is the beginning of a word, whether it is part of a name, and at which word it begins. */
const foundSlot = 0xffff;
const foundBegin = 0x1_0000;
const foundInName = 0x2_0000;
const foundWordShift = 18;

const underscore = 95;
const openParenthesis = 40;
const point = 46;
/** Of the hash of a word (FNV). */
const hashFactor = 0x0100_0193;

/**
 * One pass over a text of two bytes a character: counts words and different words, and lists the longest term that begins at each word.
 * In a third of the instructions that JavaScript takes for it. Leaves the address behind the last found term.
 */
const scanCode = wasmModule({
  name: "scan",
  /** Where the text ends, and the base of the trie's root. */
  parameters: ["end", "rootBase"],
  i32: [
    ...["at", "kind", "code", "letter", "words", "halfWords", "distinctWords", "hash"],
    ...["slot", "base", "behind", "found", "foundEnd", "skips", "skipTo", "to"],
  ],
  v128: [],
  body: (variables) => {
    const { get, set, add } = variables;
    return [
      set("at", i32.const(textAt)),
      set("to", i32.const(foundAt)),
      block(
        "end of text",
        loop(
          "words",
          when(i32.equals(get("at"), get("end")), br("end of text")),
          set("letter", letterAt(get("at"))),
          set("kind", classOf(get("letter"))),
          when(i32.equals(get("kind"), i32.const(betweenWords)), add("at", 2), br("words")),
          when(i32.isAtLeast(get("at"), get("skipTo")), ...findTerm(variables)),
          ...readWord(variables),
          br("words"),
        ),
      ),
      i32.store(i32.const(wordsAt), get("words")),
      i32.store(i32.const(distinctWordsAt), get("distinctWords")),
      get("to"),
    ];
  },
});

/** What the character at an address is. */
function letterAt(at: Code): Code {
  return i32.load16(i32.shiftLeft(i32.load16(at), 1), lettersAt);
}

function classOf(letter: Code): Code {
  return i32.shiftRight(letter, classShift);
}

/** Looks for the longest term that begins at `at`, where a word begins. */
function findTerm({ get, set, add }: Variables): readonly Code[] {
  const keep = (ending: number, skipped: number, mark: number) =>
    when(
      i32.and(get("base"), i32.const(ending)),
      set("found", i32.or(get("slot"), i32.const(mark))),
      set("foundEnd", get("behind")),
      set("skips", i32.and(get("base"), i32.const(skipped))),
    );
  return [
    set("slot", i32.const(1)),
    set("base", get("rootBase")),
    set("found", i32.const(0)),
    set("behind", get("at")),
    block(
      "mismatch",
      loop(
        "letters",
        set("letter", i32.and(get("letter"), i32.const((1 << classShift) - 1))),
        when(i32.isZero(get("letter")), br("mismatch")),
        // Of the child, if there is one.
        set("letter", i32.add(i32.and(get("base"), i32.const(baseMask)), get("letter"))),
        when(i32.differs(i32.load(i32.shiftLeft(get("letter"), 3), trieAt + 4), get("slot")), br("mismatch")),
        set("slot", get("letter")),
        set("base", i32.load(i32.shiftLeft(get("slot"), 3), trieAt)),
        add("behind", 2),
        set("letter", letterAt(get("behind"))),
        when(
          i32.and(get("base"), i32.const(wholeWord)),
          when(i32.differs(classOf(get("letter")), i32.const(inWord)), keep(wholeWord, wholeIsSkipped, 0)),
          when(i32.equals(classOf(get("letter")), i32.const(inWord)), keep(beginOfWord, beginIsSkipped, foundBegin)),
        ),
        br("letters"),
      ),
    ),
    when(
      get("found"),
      // The terms within one that names nothing are not looked at.
      when(get("skips"), set("skipTo", get("foundEnd"))),
      when(
        i32.or(
          i32.or(
            i32.equals(i32.load16(get("foundEnd")), i32.const(openParenthesis)),
            i32.equals(i32.load16(i32.subtract(get("at"), i32.const(2))), i32.const(underscore)),
          ),
          // `login.py`, `session.token`
          i32.and(
            i32.equals(i32.load16(get("foundEnd")), i32.const(point)),
            i32.equals(classOf(letterAt(i32.add(get("foundEnd"), i32.const(2)))), i32.const(inWord)),
          ),
        ),
        set("found", i32.or(get("found"), i32.const(foundInName))),
      ),
      i32.store(get("to"), i32.or(get("found"), i32.shiftLeft(i32.shiftRight(get("halfWords"), 1), foundWordShift))),
      add("to", 4),
    ),
  ];
}

/** Goes behind the word that begins at `at`, and counts it. */
function readWord({ get, set, add }: Variables): readonly Code[] {
  return [
    add("words", 1),
    set("halfWords", i32.add(get("halfWords"), i32.subtract(i32.const(3), get("kind")))),
    set("hash", i32.const(0)),
    block(
      "end of word",
      loop(
        "word",
        set("code", i32.load16(get("at"))),
        // As a small letter.
        set(
          "code",
          i32.add(get("code"), i32.shiftLeft(i32.isLess(i32.subtract(get("code"), i32.const(65)), i32.const(26)), 5)),
        ),
        set("hash", i32.add(i32.multiply(i32.xor(get("hash"), get("code")), i32.const(hashFactor)), get("code"))),
        add("at", 2),
        when(i32.differs(get("kind"), i32.const(inWord)), br("end of word")),
        set("letter", letterAt(get("at"))),
        when(i32.equals(classOf(get("letter")), i32.const(inWord)), br("word")),
      ),
    ),
    // Two words in one place are rare enough at the lengths that are read.
    set("hash", i32.and(i32.xor(get("hash"), i32.shiftRight(get("hash"), 15)), i32.const(seenSize - 1))),
    when(
      i32.isZero(i32.load8(get("hash"), seenAt)),
      add("distinctWords", 1),
      i32.store8(get("hash"), i32.const(1), seenAt),
    ),
  ];
}

/** A trie as a double array, and its alphabet. */
export interface TermTrie {
  /** A number for each letter that occurs in terms, by character; 0 for all others. */
  readonly symbolOf: Uint16Array;
  /** By character: its class (`term-characters.ts`). */
  readonly classOf: Uint8Array;
  readonly base: readonly number[];
  readonly parentOf: readonly number[];
  readonly endings: readonly TermEnding[];
}

/** A slot at which a term ends. Of one that names nothing, and hides the terms within it, it is true. */
export interface TermEnding {
  readonly slot: number;
  /** As a whole word. */
  readonly whole: boolean;
  /** As the beginning of a longer word; absent where none may go on. */
  readonly begin?: boolean;
}

/** What a scan has found. To be read before the next one. */
export interface ScannedTerms {
  words: number;
  /** Different words among them, within a few of the exact number. */
  distinctWords: number;
  found: number;
  /** Of the first `found` numbers each is a term. */
  readonly terms: Uint32Array;
}

/** Reads one of the numbers in `terms`. */
export const termSlot = (term: number) => term & foundSlot;
export const beginsWord = (term: number) => (term & foundBegin) !== 0;
export const standsInName = (term: number) => (term & foundInName) !== 0;
/** Words before it; a character that is a word by itself counts as half of one. */
export const wordsBefore = (term: number) => term >>> foundWordShift;

/** A function that looks for the terms of a trie in a text, which has at most `maxScannedCharacters`. */
export function termScanner(trie: TermTrie): (text: string) => ScannedTerms {
  const { symbolOf, classOf, base, parentOf, endings } = trie;
  const memory = new WebAssembly.Memory({ initial: pages });
  const { scan } = new WebAssembly.Instance(new WebAssembly.Module(scanCode), { env: { memory } }).exports as {
    scan: (end: number, rootBase: number) => number;
  }; // as the module exports it
  const letters = new Uint16Array(memory.buffer, lettersAt, 0x1_0000);
  for (let code = 0; code < letters.length; code++)
    letters[code] = (symbolOf[code] ?? 0) | ((classOf[code] ?? 0) << classShift);
  const slots = new Uint32Array(memory.buffer, trieAt, 2 * base.length);
  for (let slot = 0; slot < base.length; slot++) {
    slots[2 * slot] = base[slot] ?? 0;
    slots[2 * slot + 1] = parentOf[slot] ?? 0;
  }
  for (const { slot, whole, begin } of endings) {
    const asWhole = wholeWord | (whole ? wholeIsSkipped : 0);
    const asBegin = begin === undefined ? 0 : beginOfWord | (begin ? beginIsSkipped : 0);
    slots[2 * slot] = (base[slot] ?? 0) | asWhole | asBegin;
  }
  const rootBase = base[1] ?? 0;
  const bytes = Buffer.from(memory.buffer);
  const seen = new Uint8Array(memory.buffer, seenAt, seenSize);
  const counts = new Uint32Array(memory.buffer, 0, 2);
  const terms = new Uint32Array(memory.buffer, foundAt, maxScannedCharacters);
  const scanned: ScannedTerms = { words: 0, distinctWords: 0, found: 0, terms };
  return (text) => {
    if (text.length > maxScannedCharacters) throw new RangeError("too long to be scanned");
    const end = textAt + bytes.write(text, textAt, "utf16le");
    bytes[end] = 0;
    bytes[end + 1] = 0;
    seen.fill(0);
    scanned.found = (scan(end, rootBase) - foundAt) / 4;
    scanned.words = counts[wordsAt / 4] ?? 0;
    scanned.distinctWords = counts[distinctWordsAt / 4] ?? 0;
    return scanned;
  };
}
