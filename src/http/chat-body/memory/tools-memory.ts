import type { ReceivedBody } from "#domain/chat.ts";
import { knownMemberOf, setKnownMember } from "#domain/received/known-members.ts";
import { TextTags } from "#platform/keyed-memory/text-tags.ts";
import { TwoGenerations } from "#platform/keyed-memory/two-generations.ts";
import { addEnd, longestKnown, type PartEnd } from "./part-ends.ts";
import { countIn, type ValueCounts } from "./value-counts.ts";

const COMMA = 0x2c;
const CLOSE_BRACE = 0x7d;

/** Of memory, for tools and for places where they may end. */
const maxToolsBytes = 1_048_576;
const maxEndsBytes = 262_144;
/** With what assessing and redaction remember of them. */
const bytesPerTools = 256;
const bytesPerEnd = 32;
/** Tools that begin alike. */
const maxEnds = 16;
/** Shorter ones are parsed in the time that a tag takes. */
const minToolsBytes = 2_048;
/** What stands at the beginning tells where to look for the end. */
const keyBytes = 1_024;
/** Places where the tools may begin: an object in the body may have a member of the same name. */
const maxPlaces = 4;

/** Tools as they were received before. Holds no text. */
export interface KnownTools extends Readonly<ValueCounts> {}

/** Known tools in a body: the member `[from, to)`, its name included. */
export interface PlacedTools {
  readonly from: number;
  readonly to: number;
  readonly known: KnownTools;
}

const name = Buffer.from('"tools"');

/**
 * Remembers the `tools` of bodies under keyed tags of their bytes (`TextTags`): an agent sends the same ones with every turn, 5 to 60 KB. Kept
 * are counts, never text.
 */
export class ToolsMemory {
  readonly #tags = new TextTags();
  readonly #tools = new TwoGenerations<KnownTools>(maxToolsBytes, () => bytesPerTools);
  /** By a hash of how they begin, newest first. */
  readonly #ends = new TwoGenerations<PartEnd[], number>(maxEndsBytes, () => bytesPerEnd * maxEnds);

  /** Known tools that begin in `[from, to)`. Whether they are a member of the body itself is for the caller to check. */
  findIn(bytes: Uint8Array, from: number, to: number): PlacedTools | undefined {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from);
    let at = -1;
    for (let tried = 0; tried < maxPlaces; tried++) {
      at = buffer.indexOf(name, at + 1);
      if (at < 0 || at + minToolsBytes > buffer.length) return undefined;
      const ends = this.#ends.get(keyOf(buffer, at));
      const recall = (part: Uint8Array) => this.#tools.get(this.#tags.ofBytes(part));
      const found = ends && longestKnown(ends, bytes, from + at, mayFollow, recall);
      if (found !== undefined) return { from: from + at, to: from + at + found.length, known: found.known };
    }
    return undefined;
  }

  /** Remembers the tools of a body, and says of them that they are known. */
  remember({ bytes, parsed, members }: ReceivedBody): void {
    const { tools } = parsed;
    const range = members.get("tools");
    if (range === undefined || !Array.isArray(tools) || knownMemberOf(tools) !== undefined) return;
    const part = bytes.subarray(range.from, range.to);
    if (part.length < minToolsBytes) return;
    const tag = this.#tags.ofBytes(part);
    let known = this.#tools.get(tag);
    if (known === undefined) {
      const counts = { values: 0, cacheControl: false };
      countIn(tools, counts);
      known = counts;
      this.#tools.set(tag, known);
    }
    const key = keyOf(part, 0);
    const ends = this.#ends.get(key) ?? [];
    if (addEnd(ends, part, maxEnds)) this.#ends.set(key, ends);
    setKnownMember(tools, known);
  }
}

function keyOf(bytes: Uint8Array, at: number): number {
  return Bun.hash.crc32(bytes.subarray(at, at + keyBytes));
}

function mayFollow(byte: number | undefined): boolean {
  return byte === COMMA || byte === CLOSE_BRACE;
}
