import type { ChatMessage } from "#domain/chat.ts";
import { type KnownRun, type KnownRunAt, knownRunsOf } from "#domain/received/known-messages.ts";
import { askIn, isContinuePrompt } from "#pipeline/assess/envelope/ask.ts";
import { harnessTurnIn } from "#pipeline/assess/envelope/harness-turn.ts";
import { isCompactionRequest } from "#pipeline/assess/envelope/housekeeping.ts";
import { placeOf } from "#platform/text-search/place-of.ts";

/** Messages from which on a conversation has something to be compacted: an ask, its answer and the request. */
const longConversation = 3;

/** What a user's message asks for: where that stands in the part that is read. Holds no text. */
interface AskPlace {
  /** `[from, to)`, empty where no user asks for anything. */
  readonly from: number;
  readonly to: number;
  /** It asks to compact the conversation. */
  readonly compacts: boolean;
  /** It only says to go on. */
  readonly continues: boolean;
}

interface ReadAsk {
  readonly ask: string;
  /** It asks to compact the conversation, which is long. */
  readonly compacts: boolean;
  readonly continues: boolean;
}

const noAsk: AskPlace = { from: 0, to: 0, compacts: false, continues: false };

/** By the index of the message in its run. */
const remembered = new WeakMap<KnownRun, Map<number, AskPlace>>();

/**
 * The asks in the messages of a conversation, to be looked for from the newest message to the oldest. Agents resend the ask with every
 * turn, and some write hundreds of tool results in the user's role: each known message is read once.
 */
export class KnownAsks {
  readonly #runs: readonly KnownRunAt[];
  readonly #isLong: boolean;
  /** Index behind the run that was asked about last. */
  #at: number;

  constructor(messages: readonly ChatMessage[]) {
    this.#runs = knownRunsOf(messages);
    this.#isLong = messages.length >= longConversation;
    this.#at = this.#runs.length;
  }

  /** Whether it is known that no user asks for anything in message `at`. */
  isWithoutAsk(at: number): boolean {
    return this.#placeOf(at) === noAsk;
  }

  /** @param shown the part that is read of message `at` */
  read(at: number, shown: string): ReadAsk {
    const place = this.#placeOf(at) ?? this.#remembered(at, shown);
    if (place === undefined) return this.#readNew(shown, this.#isLong);
    const { from, to, compacts, continues } = place;
    return { ask: shown.slice(from, to), compacts: compacts && this.#isLong, continues };
  }

  /** The place of the ask of a known message; undefined where it is put together of parts of its message. */
  #remembered(at: number, shown: string): AskPlace | undefined {
    const run = this.#runAt(at);
    if (run === undefined) return undefined;
    const { ask, compacts, continues } = this.#readNew(shown, true);
    const from = placeOf(shown, ask);
    if (from < 0) return undefined;
    const place = ask === "" ? noAsk : { from, to: from + ask.length, compacts, continues };
    remember(run, at, place);
    return place;
  }

  #readNew(shown: string, isLong: boolean): ReadAsk {
    const ask = harnessTurnIn(shown) === undefined ? askIn(shown) : "";
    const compacts = isLong && ask !== "" && isCompactionRequest(shown);
    return { ask, compacts, continues: isContinuePrompt(ask) };
  }

  #placeOf(at: number): AskPlace | undefined {
    const run = this.#runAt(at);
    if (run === undefined) return undefined;
    const index = at - run.from;
    const known = remembered.get(run.known)?.get(index);
    if (known !== undefined || run.begin === undefined) return known;
    const before = remembered.get(run.begin.known)?.get(index);
    if (before !== undefined) remember(run, at, before);
    return before;
  }

  #runAt(at: number): KnownRunAt | undefined {
    while (this.#at > 0 && at < (this.#runs[this.#at - 1]?.from ?? 0)) this.#at--;
    const run = this.#runs[this.#at - 1];
    return run !== undefined && at < run.to ? run : undefined;
  }
}

function remember(run: KnownRunAt, at: number, place: AskPlace): void {
  const known = remembered.get(run.known) ?? new Map<number, AskPlace>();
  known.set(at - run.from, place);
  remembered.set(run.known, known);
}
