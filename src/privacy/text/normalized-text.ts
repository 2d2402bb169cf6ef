import { HYPHEN, SPACE } from "./characters.ts";
import { SourceOffsets } from "./source-offsets.ts";
import {
  COLOUR,
  foreignWordAt,
  isWordCharacter,
  latin1Of,
  latinTwin,
  maxExpansion,
  narrowBytes,
  REDACTED,
} from "./unicode.ts";

/**
 * What the scanner reads instead of the text itself: the same text as bytes, without what hides or splits tokens.
 * Escape sequences of any depth, HTML entities and percent escapes of punctuation are what they mean; characters
 * without width, NULs and the colours of a part of a word are removed; other colours are boundaries, and so are letters
 * beyond Latin-1. Only used to find things: what is replaced is the text.
 *
 * The bytes are in one buffer that every scan reuses: a normalized text is valid until the next one is made.
 */
export interface NormalizedText {
  /** The text as it was handed in. */
  readonly source: string;
  /** ISO-8859-1; as long as `length`. */
  readonly text: string;
  /** More than `length` bytes, those after the end 0. */
  readonly bytes: Buffer;
  /** The same bytes two by two, little-endian; `pairs[i]` holds bytes 2i and 2i + 1. */
  readonly pairs: Uint16Array;
  readonly length: number;
  /** Where each byte began in the text, for places up to `length`; undefined when both texts are the same. */
  readonly sourceOffsets: SourceOffsets | undefined;
  /** Characters that may still be read for objects around names: a text of names must not be read over and over. */
  readonly budget: { objects: number };
  /** 1 at indices before which something invisible was dropped: boundaries for tokens. */
  readonly hiddenBoundaries: Uint8Array | undefined;
}

export function normalize(source: string): NormalizedText {
  const isAscii = Buffer.byteLength(source) === source.length;
  // Foreign key words may take more room than they have.
  reserve(isAscii ? source.length : source.length * maxExpansion);
  const narrow = isAscii ? source : narrowed(source);
  const pattern = isAscii ? escapes : escapesAndWide;
  const replaced = narrow.search(pattern) < 0 ? undefined : new Replacement(source, narrow, pattern);
  const text = replaced?.text ?? narrow;
  const length = bytes.write(text, "latin1");
  bytes.fill(0, length, length + endingZeros);
  const { sourceOffsets, hiddenBoundaries } = replaced ?? { sourceOffsets: undefined, hiddenBoundaries: undefined };
  const budget = { objects: 4 * length + 65_536 };
  return { source, text, bytes, pairs, length, sourceOffsets, hiddenBoundaries, budget };
}

/** A buffer above this size is given back after use. */
const keptLength = 8 * 1_048_576;
const minLength = 64 * 1_024;
/** Behind a text, for readers that look ahead. */
const endingZeros = 8;
let bytes = Buffer.alloc(minLength);
let pairs = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);

function reserve(length: number): void {
  const needed = length + endingZeros;
  if (bytes.length >= needed && (bytes.length <= keptLength || length >= keptLength)) return;
  bytes = Buffer.alloc(needed > keptLength ? needed : Math.max(2 * needed, minLength));
  pairs = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);
}

/** Characters that are looked at one after the other where some are beyond ASCII. */
const blockLength = 2_048;

/**
 * A text of the same length in ISO-8859-1, which patterns read many times faster. What depends on its neighbours, or
 * cannot be seen, is WIDE in it.
 */
function narrowed(text: string): string {
  bytes.write(text, "latin1");
  const table = narrowBytes();
  for (let from = 0; from < text.length; from += blockLength) {
    const block = text.slice(from, from + blockLength);
    if (Buffer.byteLength(block) === block.length) continue;
    for (let at = 0; at < block.length; at++) bytes[from + at] = table[block.charCodeAt(at)] ?? 0;
  }
  return bytes.toString("latin1", 0, text.length);
}

/** m: colour; H, J, K: cursor and erasing. Any other letter may as well begin a token. */
const control = String.raw`\[(?:[ -?]{0,22}[mHJK])?`;
/** What does not stand for itself. */
const escapeSequences = [
  // Colours of a terminal, as they are or escaped, in a row.
  String.raw`((?:\x1b(?:${control})?|\\{1,64}(?:(?:u00|x)1[bB](?:${control})?|(?:033|e)${control}))(?:(?:\x1b|\\{1,8}(?:033|e|(?:u00|x)1[bB]))${control}){0,8})`,
  // A word of a shell that goes on in the next line.
  String.raw`(?<=[\w-])\\\n(?=[\w-])`,
  // Escaped once or many times; `:` and `=` are in files of properties.
  "\\\\+(?:[nrt\"'`:=/]|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2})?",
  // What separates things, and what nothing has to escape. All others stay as they are.
  "%(?:0[AaDd]|2[B-Fb-f]|3[AaDd]|40|5[BbDdFf]|7[BbDdEe])",
  "&(?:quot|amp|lt|gt|apos|nbsp|#(?:x[0-9A-Fa-f]{1,5}|[0-9]{1,6}));",
  String.raw`\0`,
  String.raw`\[REDACTED:[a-z][a-z0-9_]{0,63}:\d{1,9}\]`,
];
/** Wide characters, and as many others between and behind them as a key word may hold. */
const wide = String.raw`\x1a{1,4096}(?:[\x01 A-Za-z\xc0-\xff]{1,15}\x1a{1,256}){0,64}[\x01 A-Za-z\xc0-\xff]{0,15}`;
const escapes = new RegExp(escapeSequences.join("|"), "g");
const escapesAndWide = new RegExp([...escapeSequences, wide].join("|"), "g");
/** What ends the authority behind `://`. */
const endsAuthority = /[/\x00-#'?]/g;
const entities: Readonly<Record<string, string>> = { quot: '"', amp: "&", lt: "<", gt: ">", apos: "'", nbsp: " " };

/** A text with what does not stand for itself replaced, and what is known of the places. */
class Replacement {
  readonly text: string;
  readonly sourceOffsets = new SourceOffsets();
  hiddenBoundaries: Uint8Array | undefined;
  readonly #source: string;
  readonly #narrow: string;
  /** How much longer the text has become. */
  #growth = 0;
  /** Where the last sequence ended, and what it stands for. */
  #lastEnd = 0;
  #lastText = "";
  #nextAuthority: number;
  #authorityEnd = 0;

  constructor(source: string, narrow: string, pattern: RegExp) {
    this.#source = source;
    this.#narrow = narrow;
    this.#nextAuthority = narrow.indexOf("://");
    this.text = narrow.replace(pattern, (sequence: string, colours: string | undefined, at: number) => {
      const text = this.#read(sequence, colours !== undefined, at);
      const end = at + sequence.length;
      this.#growth += text.length - sequence.length;
      this.sourceOffsets.note(end + this.#growth, end);
      if (text !== "" || at !== this.#lastEnd) this.#lastText = text === "" ? narrow.charAt(at - 1) : text;
      this.#lastEnd = end;
      return text;
    });
  }

  /** What a sequence stands for. */
  #read(sequence: string, isColour: boolean, at: number): string {
    if (isColour) return this.#isInsideWord(at, at + sequence.length) ? this.#hidden(at) : character(COLOUR);
    switch (sequence.charAt(0)) {
      case "\\":
        return this.#readEscaped(sequence, at);
      case "%": {
        const escaped = String.fromCharCode(Number.parseInt(sequence.slice(1), 16));
        const isPassword = !"_-.~".includes(escaped) && this.#isInAuthority(at);
        return isPassword ? sequence : escaped;
      }
      case "&": {
        const name = sequence.slice(1, -1);
        const code = name.startsWith("#x") ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
        return entities[name] ?? this.#readCode(code, at);
      }
      case "\0":
        // UTF-16 that was read as UTF-8 has one behind each letter.
        return this.#hidden(at);
      case "[":
        return character(REDACTED);
      default:
        return this.#readWide(at, at + sequence.length);
    }
  }

  /** Between `://` and the next `/`, where an escaped `@` or `:` is part of a password. Asked in ascending order. */
  #isInAuthority(at: number): boolean {
    while (this.#nextAuthority >= 0 && this.#nextAuthority < at) {
      endsAuthority.lastIndex = this.#nextAuthority + 3;
      this.#authorityEnd = endsAuthority.test(this.#narrow) ? endsAuthority.lastIndex - 1 : this.#narrow.length;
      this.#nextAuthority = this.#narrow.indexOf("://", this.#nextAuthority + 3);
    }
    return at < this.#authorityEnd;
  }

  #readEscaped(sequence: string, at: number): string {
    const last = sequence.charAt(sequence.length - 1);
    switch (sequence.length === 2 ? last : sequence.charAt(sequence.lastIndexOf("\\") + 1)) {
      case "":
      case "\\":
        return "\\";
      case "n":
      case "r":
        return "\n";
      case "t":
        return "\t";
      case "u":
      case "x":
        return this.#readCode(Number.parseInt(sequence.slice(sequence.lastIndexOf("\\") + 2), 16) || -1, at);
      case "\n":
        return this.#hidden(at);
      default:
        return last;
    }
  }

  #readCode(code: number, at: number): string {
    const latin = code < 0x80 ? code : latin1Of(code);
    return latin < 0 ? this.#hidden(at) : character(latin);
  }

  /** Something invisible stands at a place. */
  #hidden(at: number): string {
    this.#markBoundary(at + this.#growth);
    return "";
  }

  #markBoundary(place: number): void {
    this.hiddenBoundaries ??= new Uint8Array(maxExpansion * this.#source.length + 1);
    this.hiddenBoundaries[place] = 1;
  }

  /** Whether a colour changes within a word, as `grep` marks what it found. The dash of a removed line is no word. */
  #isInsideWord(at: number, end: number): boolean {
    const before =
      (at - this.#lastEnd < 2 ? this.#lastText : "") + this.#narrow.slice(Math.max(this.#lastEnd, at - 2), at);
    const last = before.charCodeAt(before.length - 1);
    if (!isWordCharacter(last) || !isWordCharacter(this.#source.charCodeAt(end))) return false;
    return last !== HYPHEN || (before.length > 1 && before.charCodeAt(before.length - 2) > SPACE);
  }

  /** Key words of other scripts, and characters that ISO-8859-1 may have. */
  #readWide(from: number, to: number): string {
    const source = this.#source;
    const first = from + this.#growth;
    let length = 0;
    for (let at = from; at < to; ) {
      this.sourceOffsets.note(first + length, at);
      const c = source.charCodeAt(at);
      const foreign = c < 0x80 ? undefined : foreignWordAt(source, at, c);
      if (foreign !== undefined && at + foreign.word.length <= to) {
        for (let k = 1; k < foreign.replacement.length; k++) this.sourceOffsets.note(first + length + k, at);
        length += bytes.write(foreign.replacement, length, "latin1");
        at += foreign.word.length;
        continue;
      }
      const point = c >= 0xd800 && c <= 0xdbff ? (source.codePointAt(at) ?? c) : c;
      const code = c < 0x80 ? c : (latinTwin(source, at) ?? latin1Of(point));
      if (code >= 0) bytes[length++] = code;
      else this.#markBoundary(first + length);
      at += code < 0 && point > 0xffff ? 2 : 1;
    }
    return bytes.toString("latin1", 0, length);
  }
}

const characters = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code));

function character(code: number): string {
  return characters[code] ?? "\x01";
}
