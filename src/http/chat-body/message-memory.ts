import { type ChatMessage, isObject, type MessageRole, type ReceivedBody } from "#domain/chat.ts";
import { type KnownRun, type KnownRunAt, setKnownRuns } from "#domain/received/known-messages.ts";
import { messageRuns, minRunBytes } from "#domain/received/message-runs.ts";
import { isCacheKeyName } from "#http/request/json-shape.ts";
import { type TextTag, TextTags } from "#platform/keyed-memory/text-tags.ts";
import { TwoGenerations } from "#platform/keyed-memory/two-generations.ts";

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;

/** Of memory. A run takes 1 to 4 KB for its 16 KB of conversation. */
const maxRunsBytes = 12_582_912;
const maxBeginningsBytes = 3_145_728;
const maxEndsBytes = 1_048_576;
const bytesPerRun = 256;
/** With what assessing remembers of it. */
const bytesPerMessage = 384;
const bytesPerTag = 48;
const bytesPerEnd = 32;
/** Conversations, and earlier turns of one, whose first run is the same. */
const maxEnds = 16;
/** Places where the messages of a body may begin: a tool's description may name a member like that too. */
const maxPlaces = 4;
/** How much before its end tells one beginning of a conversation from others, most of the time. */
const endBytes = 64;

/** A run of messages as it was parsed. Holds no text. */
export interface RememberedRun extends KnownRun {
  readonly tag: TextTag;
  /** Where each message stands in the run's bytes: from [2i] to [2i + 1]. */
  readonly places: readonly number[];
  /** JSON values, counted as `hasMoreValuesThan` counts them. */
  readonly values: number;
  /** Some key or text in it asks to write to a prompt cache. */
  readonly cacheControl: boolean;
}

interface PlacedRememberedRun extends KnownRunAt {
  readonly known: RememberedRun;
}

/** The runs of known messages that a body's messages begin with. At least one message follows them. */
export interface KnownBeginning {
  /** `[from, to)` in the bytes: all of the runs and the comma behind them. */
  readonly from: number;
  readonly to: number;
  readonly runs: readonly PlacedRememberedRun[];
}

/** Where a beginning of a conversation ends. Only says where to look. */
interface BeginningEnd {
  readonly length: number;
  /** Hash of its last bytes. */
  readonly hash: number;
}

/**
 * Remembers how runs of messages were parsed, under keyed tags of their bytes (`TextTags`): an agent sends its whole history with
 * every turn, and reading it takes longer than anything else. Kept are places, roles and counts, never text.
 */
export class MessageMemory {
  readonly #tags = new TextTags();
  readonly #runs = new TwoGenerations<RememberedRun>(
    maxRunsBytes,
    ({ roles }) => bytesPerRun + bytesPerMessage * roles.length,
  );
  /** The tags of their runs, by the tag of all their bytes: one tag recognizes all runs of a conversation. */
  readonly #beginnings = new TwoGenerations<readonly TextTag[]>(
    maxBeginningsBytes,
    ({ length }) => bytesPerTag * length,
  );
  /** By the tag of their first bytes, newest first. */
  readonly #ends = new TwoGenerations<BeginningEnd[]>(maxEndsBytes, () => bytesPerEnd * maxEnds);

  /** Whether the messages begin at the place found is for the caller to check, once the rest is parsed. */
  beginningOf(bytes: Uint8Array): KnownBeginning | undefined {
    // Too short for a run.
    if (bytes.length <= minRunBytes) return undefined;
    let from = 0;
    for (let tried = 0; tried < maxPlaces; tried++) {
      from = startOfMessages(bytes, from);
      if (from < 0) return undefined;
      const runs = this.#runsAt(bytes, from);
      if (runs.length === 0) continue;
      let to = from;
      for (const { known } of runs) to += (known.places.at(-1) ?? 0) + 1;
      return { from, to, runs };
    }
    return undefined;
  }

  /** Remembers the runs of a body, and says of its messages which are known. */
  remember({ bytes, parsed, messages: places }: ReceivedBody, known: readonly PlacedRememberedRun[] = []): void {
    const runs = [...known];
    for (const { from, to } of messageRuns(places).slice(known.length)) {
      const start = places[2 * from] ?? 0;
      const tag = this.#tags.ofBytes(bytes.subarray(start, places[2 * to - 1]));
      let run = this.#runs.get(tag);
      if (run === undefined) {
        const placesInRun = places.slice(2 * from, 2 * to).map((place) => place - start);
        run = rememberedRun(tag, parsed.messages.slice(from, to), placesInRun);
        this.#runs.set(tag, run);
      }
      runs.push({ from, to, known: run });
    }
    setKnownRuns(parsed.messages, runs);
    const last = runs.at(-1);
    if (last !== undefined && runs.length > known.length) {
      const beginning = bytes.subarray(places[0], places[2 * last.to - 1]);
      const tags = runs.map(({ known: run }) => run.tag);
      this.#beginnings.set(runs.length === 1 ? last.known.tag : this.#tags.ofBytes(beginning), tags);
      this.#rememberEnd(beginning);
    }
  }

  #rememberEnd(beginning: Uint8Array): void {
    const tag = this.#firstBytesTag(beginning, 0);
    const { length } = beginning;
    const hash = hashBefore(beginning, length);
    const ends = this.#ends.get(tag) ?? [];
    if (ends.some((end) => end.length === length && end.hash === hash)) return;
    if (ends.unshift({ length, hash }) > maxEnds) ends.pop();
    this.#ends.set(tag, ends);
  }

  /** The known runs from a place on. */
  #runsAt(bytes: Uint8Array, from: number): readonly PlacedRememberedRun[] {
    if (bytes.length - from <= minRunBytes) return [];
    const ends = this.#ends.get(this.#firstBytesTag(bytes, from)) ?? [];
    const possible = ends.filter(({ length, hash }) => {
      const end = from + length;
      return bytes[end] === COMMA && hashBefore(bytes, end) === hash;
    });
    possible.sort((a, b) => b.length - a.length);
    for (const { length } of possible) {
      const tags = this.#beginnings.get(this.#tags.ofBytes(bytes.subarray(from, from + length)));
      if (tags !== undefined) return this.#runsOf(tags);
    }
    return [];
  }

  /** The runs of a known beginning, up to the first that is forgotten. */
  #runsOf(tags: readonly TextTag[]): readonly PlacedRememberedRun[] {
    const runs: PlacedRememberedRun[] = [];
    let from = 0;
    for (const tag of tags) {
      const known = this.#runs.get(tag);
      if (known === undefined) break;
      const to = from + known.roles.length;
      runs.push({ from, to, known });
      from = to;
    }
    return runs;
  }

  #firstBytesTag(bytes: Uint8Array, at: number): TextTag {
    return this.#tags.ofBytes(bytes.subarray(at, at + minRunBytes));
  }
}

function hashBefore(bytes: Uint8Array, end: number): number {
  return Bun.hash.crc32(bytes.subarray(end - endBytes, end));
}

const membersName = Buffer.from('"messages"');

/** Index behind the next bracket that may open the messages, from a place on; -1 where there is none. */
function startOfMessages(bytes: Uint8Array, from: number): number {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = buffer.indexOf(membersName, from); at >= 0; at = buffer.indexOf(membersName, at + 1)) {
    const colon = afterSpace(bytes, at + membersName.length);
    if (bytes[colon] !== COLON) continue;
    const bracket = afterSpace(bytes, colon + 1);
    if (bytes[bracket] === OPEN_BRACKET) return bracket + 1;
  }
  return -1;
}

function afterSpace(bytes: Uint8Array, from: number): number {
  for (let at = from; ; at++) {
    const byte = bytes[at];
    if (byte !== SPACE && byte !== LF && byte !== CR && byte !== TAB) return at;
  }
}

function rememberedRun(tag: TextTag, messages: readonly ChatMessage[], places: readonly number[]): RememberedRun {
  const roles: MessageRole[] = messages.map(({ role }) => role);
  const counts = { values: messages.length, cacheControl: false };
  for (const message of messages) countIn(message, counts);
  return { tag, roles, places, ...counts };
}

/** Adds the values in an object or array, and finds keys of prompt caches. */
function countIn(value: object, counts: { values: number; cacheControl: boolean }): void {
  // The bracket counts as one, and so does each comma.
  const members = Array.isArray(value) ? value : Object.values(value);
  counts.values += Math.max(1, members.length);
  if (isObject(value)) counts.cacheControl ||= Object.keys(value).some(isCacheKeyName);
  for (const member of members) {
    if (typeof member === "string") counts.cacheControl ||= isCacheKeyName(member);
    else if (typeof member === "object" && member !== null) countIn(member, counts);
  }
}
