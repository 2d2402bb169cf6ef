import { type ChatMessage, isObject, type MessageRole, type ReceivedBody } from "#domain/chat.ts";
import { type KnownRun, knownRunsOf, type PlacedRun, setKnownRuns } from "#domain/received/known-messages.ts";
import { messageRuns, minRunBytes } from "#domain/received/message-runs.ts";
import { isCacheKeyName } from "#http/request/json-shape.ts";
import type { TextTag } from "#platform/keyed-memory/text-tags.ts";
import { TextTags } from "#platform/keyed-memory/text-tags.ts";
import { TwoGenerations } from "#platform/keyed-memory/two-generations.ts";

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;

/** Of memory for runs, and for their lengths. Some 4 KB are taken for each 32 KB of conversation. */
const maxBytes = 16_777_216;
const maxLengthsBytes = 1_048_576;
const bytesPerRun = 256;
/** With what assessing remembers of it. */
const bytesPerMessage = 384;
/** Runs of different length that begin alike: of conversations with one long system prompt. */
const maxLengths = 4;
/** Places where the messages of a body may begin: a tool's description may name a member like that too. */
const maxBeginnings = 4;

/** A run of messages as it was parsed. Holds no text. */
export interface RememberedRun extends KnownRun {
  /** Where each message stands in the run's bytes: from [2i] to [2i + 1]. */
  readonly places: readonly number[];
  /** JSON values, counted as `hasMoreValuesThan` counts them. */
  readonly values: number;
  /** Some key or text in it asks to write to a prompt cache. */
  readonly cacheControl: boolean;
}

/** The runs of known messages that a body's messages begin with. At least one message follows them. */
export interface KnownBeginning {
  /** `[from, to)` in the bytes: all of the runs and the comma behind them. */
  readonly from: number;
  readonly to: number;
  readonly runs: readonly (PlacedRun & { readonly known: RememberedRun })[];
}

/**
 * Remembers how runs of messages were parsed, under keyed tags of their bytes (`TextTags`): an agent sends its whole history with
 * every turn, and reading it takes longer than anything else. Kept are places, roles and counts, never text.
 */
export class MessageMemory {
  readonly #tags = new TextTags();
  readonly #runs = new TwoGenerations<RememberedRun>(
    maxBytes,
    ({ roles }) => bytesPerRun + bytesPerMessage * roles.length,
  );
  /** By the tag of a run's first bytes: how long runs are that begin like this. */
  readonly #lengths = new TwoGenerations<number[]>(maxLengthsBytes, () => 8 * maxLengths);

  /** Whether the messages begin at the place found is for the caller to check, once the rest is parsed. */
  beginningOf(bytes: Uint8Array): KnownBeginning | undefined {
    let from = 0;
    for (let tried = 0; tried < maxBeginnings; tried++) {
      from = startOfMessages(bytes, from);
      if (from < 0) return undefined;
      const runs: (PlacedRun & { readonly known: RememberedRun })[] = [];
      let at = from;
      for (let run = this.#runAt(bytes, at); run !== undefined; run = this.#runAt(bytes, at)) {
        const index = runs.at(-1)?.to ?? 0;
        runs.push({ from: index, to: index + run.roles.length, known: run });
        at += (run.places.at(-1) ?? 0) + 1;
      }
      if (runs.length > 0) return { from, to: at, runs };
    }
    return undefined;
  }

  /** Remembers the runs of a body, and says of its messages which are known. */
  remember({ bytes, parsed, messages: places }: ReceivedBody): void {
    const known = knownRunsOf(parsed.messages);
    const placed: PlacedRun[] = [...known];
    for (const { from, to } of messageRuns(places).slice(known.length)) {
      const start = places[2 * from] ?? 0;
      const run = bytes.subarray(start, places[2 * to - 1]);
      const tag = this.#tags.ofBytes(run);
      let remembered = this.#runs.get(tag);
      if (remembered === undefined) {
        const ofRun = places.slice(2 * from, 2 * to).map((place) => place - start);
        remembered = rememberedRun(parsed.messages.slice(from, to), ofRun);
        this.#runs.set(tag, remembered);
      }
      this.#rememberLength(run);
      placed.push({ from, to, known: remembered });
    }
    setKnownRuns(parsed.messages, placed);
  }

  #rememberLength(run: Uint8Array): void {
    const tag = this.#beginningTag(run, 0);
    const lengths = this.#lengths.get(tag) ?? [];
    if (lengths.includes(run.length)) return;
    if (lengths.unshift(run.length) > maxLengths) lengths.pop();
    this.#lengths.set(tag, lengths);
  }

  #runAt(bytes: Uint8Array, at: number): RememberedRun | undefined {
    if (bytes.length - at <= minRunBytes) return undefined;
    for (const length of this.#lengths.get(this.#beginningTag(bytes, at)) ?? []) {
      if (bytes[at + length] !== COMMA) continue;
      const run = this.#runs.get(this.#tags.ofBytes(bytes.subarray(at, at + length)));
      if (run !== undefined) return run;
    }
    return undefined;
  }

  #beginningTag(bytes: Uint8Array, at: number): TextTag {
    return this.#tags.ofBytes(bytes.subarray(at, at + minRunBytes));
  }
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

function rememberedRun(messages: readonly ChatMessage[], places: readonly number[]): RememberedRun {
  const roles: MessageRole[] = messages.map(({ role }) => role);
  const counts = { values: messages.length, cacheControl: false };
  for (const message of messages) countIn(message, counts);
  return { roles, places, ...counts };
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
