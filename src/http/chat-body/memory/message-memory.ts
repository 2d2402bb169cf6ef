import type { ChatMessage, MessageRole, ReceivedBody } from "#domain/chat.ts";
import { type KnownRun, type KnownRunAt, messagesIn, setKnownRuns } from "#domain/received/known-messages.ts";
import { type MessageRun, messageRuns, minRunBytes } from "#domain/received/message-runs.ts";
import { largeBodyBytes } from "#platform/event-loop-turns.ts";
import { type TextTag, TextTags } from "#platform/keyed-memory/text-tags.ts";
import { TwoGenerations } from "#platform/keyed-memory/two-generations.ts";
import { addEnd, type Found, longestKnown, type PartEnd } from "./part-ends.ts";
import { countIn, type ValueCounts } from "./value-counts.ts";

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;

/** Of memory. A run takes 1 to 4 KB for its 16 KB of conversation. */
const maxRunsBytes = 12_582_912;
const maxTailsBytes = 4_194_304;
const maxBeginningsBytes = 8_388_608;
const maxEndsBytes = 1_048_576;
const bytesPerRun = 256;
/** With what assessing remembers of it. */
const bytesPerMessage = 384;
const bytesPerTag = 48;
/** Of what is remembered of a whole beginning, for each message: its role, its place, what assessing reads in it. */
const bytesPerStep = 128;
const bytesPerEnd = 32;
/** Conversations, and earlier turns of one, that nothing else tells apart. */
const maxEnds = 16;
/** Turns that go on from the same runs. */
const maxTails = 4;
/** Places where the messages of a body may begin: a tool's description may name a member like that too. */
const maxPlaces = 4;
/** A run of messages as it was parsed. Holds no text. */
export interface RememberedRun extends KnownRun, Readonly<ValueCounts> {
  readonly tag: TextTag;
  /** Where each message stands in the run's bytes: from [2i] to [2i + 1]. */
  readonly places: readonly number[];
}

interface PlacedRememberedRun extends KnownRunAt {
  readonly known: RememberedRun;
  readonly begin?: PlacedRememberedRun;
}

/** The runs of known messages that a body's messages begin with. At least one message follows them. */
export interface KnownBeginning {
  /** `[from, to)` in the bytes: all of the runs and the comma behind them. */
  readonly from: number;
  readonly to: number;
  readonly runs: readonly PlacedRememberedRun[];
  /** How many of them are of full length; behind them stands the tail, if that is known. */
  readonly fullRuns: number;
  /** Absent where some of its runs are forgotten. */
  readonly beginning: Beginning | undefined;
}

/** The runs with which a conversation was seen to begin. */
export interface Beginning {
  readonly tags: readonly TextTag[];
  readonly roles: readonly MessageRole[];
  /** Where each message stands, as in a received body. */
  readonly places: readonly number[];
  /** Where the messages behind them ended, newest first. */
  readonly tails: PartEnd[];
}

/**
 * Remembers how runs of messages were parsed, under keyed tags of their bytes (`TextTags`): an agent sends its whole history with
 * every turn, and reading it takes longer than anything else. Kept are places, roles and counts, never text. What follows the runs
 * of a conversation, its tail, is remembered as one more run, which grows with every turn until it is as long as the others.
 */
export class MessageMemory {
  readonly #tags = new TextTags();
  readonly #runs = new TwoGenerations(maxRunsBytes, bytesOfRun);
  readonly #tails = new TwoGenerations(maxTailsBytes, bytesOfRun);
  /** By the tag of all their bytes: one tag recognizes all runs of a conversation. */
  readonly #beginnings = new TwoGenerations<Beginning>(
    maxBeginningsBytes,
    ({ tags, roles }) => bytesPerTag * tags.length + bytesPerStep * roles.length + bytesPerEnd * maxTails,
  );
  /** By what stands at some places before them, newest first. */
  readonly #ends = new TwoGenerations<PartEnd[], number>(maxEndsBytes, () => bytesPerEnd * maxEnds);

  /** Whether the messages begin at the place found is for the caller to check, once the rest is parsed. */
  beginningOf(bytes: Uint8Array): KnownBeginning | undefined {
    // Too short for a run.
    if (bytes.length <= minRunBytes) return undefined;
    let from = 0;
    for (let tried = 0; tried < maxPlaces; tried++) {
      from = startOfMessages(bytes, from);
      if (from < 0) return undefined;
      const found = this.#beginningAt(bytes, from);
      if (found === undefined) continue;
      const { known: beginning, length } = found;
      const runs = this.#runsOf(beginning.tags);
      const fullRuns = runs.length;
      if (fullRuns === 0) continue;
      if (fullRuns < beginning.tags.length)
        return { from, to: behind(runs, from), runs, fullRuns, beginning: undefined };
      const to = from + length + 1;
      const tail = this.#tailAt(bytes, to, beginning);
      if (tail === undefined) return { from, to, runs, fullRuns, beginning };
      const first = beginning.roles.length;
      runs.push({ from: first, to: first + tail.roles.length, known: tail });
      return { from, to: to + lengthOf(tail) + 1, runs, fullRuns, beginning };
    }
    return undefined;
  }

  /** Remembers the runs of a body, and says of its messages which are known. */
  remember({ bytes, parsed, messages: places }: ReceivedBody, known?: KnownBeginning): void {
    const knownRuns = known?.fullRuns ?? 0;
    const runs = known === undefined ? [] : known.runs.slice(0, knownRuns);
    let begin = known?.runs[knownRuns];
    let behindRuns = runs.at(-1)?.to ?? 0;
    const add = (run: MessageRun, memory: TwoGenerations<RememberedRun>) => {
      const start = places[2 * run.from] ?? 0;
      const tag = this.#tags.ofBytes(bytes.subarray(start, places[2 * run.to - 1]));
      let remembered = memory.get(tag);
      if (remembered === undefined) {
        const added = messagesIn(parsed.messages, begin?.to ?? run.from, run.to);
        const placesInRun = places.slice(2 * run.from, 2 * run.to).map((place) => place - start);
        remembered = rememberedRun(tag, begin?.known, added, placesInRun);
        memory.set(tag, remembered);
      }
      runs.push(begin === undefined ? { ...run, known: remembered } : { ...run, known: remembered, begin });
      begin = undefined;
    };
    for (const run of messageRuns(places, behindRuns)) {
      add(run, this.#runs);
      behindRuns = run.to;
    }
    const fullRuns = runs.length;
    if (fullRuns > 0 && behindRuns < parsed.messages.length)
      add({ from: behindRuns, to: parsed.messages.length }, this.#tails);
    if (fullRuns === 0) return;
    const beginning =
      fullRuns > knownRuns || known?.beginning === undefined
        ? this.#rememberBeginning(bytes, places.slice(0, 2 * behindRuns), runs.slice(0, fullRuns))
        : known.beginning;
    setKnownRuns(parsed.messages, runs, { to: behindRuns, identity: beginning, roles: beginning.roles });
    if (runs.length > fullRuns)
      addEnd(beginning.tails, bytes.subarray(places[2 * behindRuns], places.at(-1)), maxTails);
  }

  #rememberBeginning(body: Uint8Array, places: readonly number[], runs: readonly PlacedRememberedRun[]): Beginning {
    const bytes = body.subarray(places[0], places.at(-1));
    const [first] = runs;
    const tag = runs.length === 1 && first !== undefined ? first.known.tag : this.#tags.ofBytes(bytes);
    const key = keysOfBeginnings(bytes).at(-1) ?? 0;
    const ends = this.#ends.get(key) ?? [];
    if (addEnd(ends, bytes, maxEnds)) this.#ends.set(key, ends);
    const known = this.#beginnings.get(tag);
    if (known !== undefined) return known;
    const tags = runs.map(({ known: run }) => run.tag);
    const beginning = { tags, roles: runs.flatMap(({ known: run }) => run.roles), places, tails: [] };
    this.#beginnings.set(tag, beginning);
    return beginning;
  }

  /** What is known of the conversation from a place on, and how long it is. */
  #beginningAt(bytes: Uint8Array, from: number): Found<Beginning> | undefined {
    const keys = keysOfBeginnings(bytes.subarray(from));
    for (let at = keys.length - 1; at >= 0; at--) {
      const ends = this.#ends.get(keys[at] ?? 0);
      const found =
        ends && longestKnown(ends, bytes, from, isComma, (part) => this.#beginnings.get(this.#tags.ofBytes(part)));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #tailAt(bytes: Uint8Array, from: number, { tails }: Beginning): RememberedRun | undefined {
    return longestKnown(tails, bytes, from, isComma, (part) => this.#tails.get(this.#tags.ofBytes(part)))?.known;
  }

  /** The runs of a known beginning, up to the first that is forgotten. */
  #runsOf(tags: readonly TextTag[]): PlacedRememberedRun[] {
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
}

function bytesOfRun({ roles }: RememberedRun): number {
  return bytesPerRun + bytesPerMessage * roles.length;
}

function lengthOf({ places }: RememberedRun): number {
  return places.at(-1) ?? 0;
}

/** Behind the comma that follows runs which begin at a place. */
function behind(runs: readonly PlacedRememberedRun[], from: number): number {
  let to = from;
  for (const { known } of runs) to += lengthOf(known) + 1;
  return to;
}

/** How much before each such length is compared: two conversations have seldom all of it in common by chance. */
const comparedBytes = 1_024;
/** Lengths of beginnings that are told apart by what stands before them: two for each power of two. */
const keyLengths = [...powers(minRunBytes, largeBodyBytes)];

function* powers(from: number, to: number): Generator<number> {
  for (let length = from; length <= to; length *= 2) yield* [length, 1.5 * length];
}

/**
 * Keys under which the ends of beginnings stand, for each length of a beginning in these bytes. The conversations of one agent may
 * have their first tens of kilobytes in common, and differ behind these. Only say where to look, so that a fast hash will do.
 */
function keysOfBeginnings(bytes: Uint8Array): number[] {
  const keys: number[] = [];
  let key = 0;
  for (const length of keyLengths) {
    if (length > bytes.length) break;
    key = Bun.hash.crc32(bytes.subarray(length - comparedBytes, length), key);
    keys.push(key);
  }
  return keys;
}

function isComma(byte: number | undefined): boolean {
  return byte === COMMA;
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

/** @param begin what was remembered of its first messages; `added` are those behind them */
function rememberedRun(
  tag: TextTag,
  begin: RememberedRun | undefined,
  added: readonly ChatMessage[],
  places: readonly number[],
): RememberedRun {
  const addedRoles = added.map(({ role }) => role);
  const roles = begin === undefined ? addedRoles : [...begin.roles, ...addedRoles];
  const counts = { values: (begin?.values ?? 0) + added.length, cacheControl: begin?.cacheControl === true };
  for (const message of added) countIn(message, counts);
  return { tag, roles, places, ...counts };
}
