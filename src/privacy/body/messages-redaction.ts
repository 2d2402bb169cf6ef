import type { ChatMessage, ReceivedBody } from "#domain/chat.ts";
import { type KnownRunAt, knownBeginningOf, knownRunsOf, replaceMessages } from "#domain/received/known-messages.ts";
import { type MessageRun, messageRuns } from "#domain/received/message-runs.ts";
import { SplicedMessage } from "#domain/received/spliced-message.ts";
import type { TextTag } from "#platform/keyed-memory/text-tags.ts";
import type { Span } from "#privacy/text/spans.ts";
import { placesOf, type ReplacedValue, valueAt } from "./places.ts";
import { type FoundMessage, nothingFound, type ReceivedRun, type ScannedRuns } from "./scanned-runs.ts";

export interface RedactedMessage {
  /** The very message that was handed in when nothing was replaced. */
  readonly message: ChatMessage;
  /** Whether anything was found, also what is no reason to do anything. */
  readonly hasFound: boolean;
  /** In the order of the message; undefined where this is not all that was found. */
  readonly replaced: readonly ReplacedValue[] | undefined;
}

/** Redacts one message after the other. */
export interface MessageRedactor {
  redactMessage(message: ChatMessage, index: number): RedactedMessage;
  /** The placeholder of a value in the message at an index. */
  replaceValue(rule: string, value: string, index: number): string;
}

/** What is known of the bytes of messages. */
interface ScannedMessages {
  readonly received: ReceivedBody;
  readonly runs: ScannedRuns;
}

/** The redaction of all messages of a body. */
export class MessagesRedaction {
  readonly #messages: ChatMessage[];
  readonly #redactor: MessageRedactor;
  readonly #redacted = new Map<number, ChatMessage | SplicedMessage>();

  constructor(messages: ChatMessage[], redactor: MessageRedactor) {
    this.#messages = messages;
    this.#redactor = redactor;
  }

  /** The messages, with others in the place of those that had to be changed. Of known ones only those are read of which it is not known what is in them. */
  redact(scanned: ScannedMessages | undefined): ChatMessage[] {
    const read = scanned === undefined ? 0 : this.#redactRuns(scanned);
    for (let index = read; index < this.#messages.length; index++) this.#redactMessage(index);
    return this.#redacted.size === 0 ? this.#messages : replaceMessages(this.#messages, this.#redacted);
  }

  /** @returns the index behind the last run */
  #redactRuns(scanned: ScannedMessages): number {
    const { runs, received } = scanned;
    const { messages: places } = received;
    let read = 0;
    const beginning = knownBeginningOf(this.#messages);
    const length = beginning === undefined ? 0 : Number(places[2 * beginning.to - 1]) - Number(places[0]);
    const before = beginning && runs.foundInBeginning(beginning.identity, length);
    if (before !== undefined) {
      this.#redactFound(before, 0, scanned);
      read = Number(beginning?.to);
    }
    const known = knownRunsOf(this.#messages);
    const found: FoundMessage[] = [];
    for (const run of known.length > 0 ? known : messageRuns(places)) {
      if (run.to <= read) continue;
      const isTail = beginning !== undefined && run.from >= beginning.to;
      for (const { index, tag } of this.#redactRun({ ...run, isTail }, scanned))
        found.push({ index: run.from + index, tag });
      read = run.to;
      if (read === beginning?.to) runs.rememberBeginning(beginning.identity, length, found.slice());
    }
    return read;
  }

  /** @returns in which messages something was found */
  #redactRun(
    run: MessageRun & Partial<KnownRunAt> & Pick<ReceivedRun, "isTail">,
    scanned: ScannedMessages,
  ): readonly FoundMessage[] {
    const { from, to, begin, known, isTail = false } = run;
    const { runs, received } = scanned;
    const whole: ReceivedRun = { bytes: bytesOf(received, from, to), known, isTail };
    const before = runs.foundIn(whole);
    if (before !== undefined) {
      this.#redactFound(before, from, scanned);
      return before;
    }
    const inBegin =
      begin && runs.foundIn({ bytes: bytesOf(received, from, begin.to), known: begin.known, isTail: true });
    const found = [...(inBegin ?? nothingFound)];
    this.#redactFound(found, from, scanned);
    for (let index = inBegin === undefined ? from : Number(begin?.to); index < to; index++) {
      const redacted = this.#redactMessage(index);
      if (redacted?.hasFound === true)
        found.push({ index: index - from, tag: this.#rememberPlaces(index, redacted, scanned) });
    }
    runs.remember(whole, found);
    return found;
  }

  /** @param from index of the message from which they are counted */
  #redactFound(found: readonly FoundMessage[], from: number, scanned: ScannedMessages): void {
    for (const { index, tag } of found) {
      const places = tag === undefined ? undefined : scanned.runs.placesIn(tag);
      if (places !== undefined) this.#replaceAt(from + index, places, scanned.received);
      else {
        const redacted = this.#redactMessage(from + index);
        if (tag !== undefined && redacted !== undefined) this.#rememberPlaces(from + index, redacted, scanned);
      }
    }
  }

  /** Replaces the values at some places of a message, without reading it. */
  #replaceAt(index: number, places: readonly Span[], received: ReceivedBody): void {
    const bytes = bytesOf(received, index, index + 1);
    const splices = places.map((place) => ({
      from: place.start,
      to: place.end,
      text: this.#redactor.replaceValue(place.rule, valueAt(bytes, place), index),
    }));
    this.#redacted.set(index, new SplicedMessage(bytes, splices));
  }

  #redactMessage(index: number): RedactedMessage | undefined {
    const message = this.#messages[index];
    if (message === undefined) return undefined;
    const redacted = this.#redactor.redactMessage(message, index);
    if (redacted.message !== message) this.#redacted.set(index, redacted.message);
    return redacted;
  }

  /** Remembers where values were replaced in a message. @returns undefined where it has to be read again */
  #rememberPlaces(index: number, redacted: RedactedMessage, { runs, received }: ScannedMessages): TextTag | undefined {
    const { replaced } = redacted;
    if (replaced === undefined) return undefined;
    const bytes = bytesOf(received, index, index + 1);
    const places = placesOf(bytes, replaced, redacted.message);
    if (places === undefined) return undefined;
    const splices = places.map(({ start, end }, at) => ({
      from: start,
      to: end,
      text: replaced[at]?.placeholder ?? "",
    }));
    // As it will be sent with later turns.
    this.#redacted.set(index, new SplicedMessage(bytes, splices, redacted.message));
    return runs.rememberPlaces(bytes, places);
  }
}

function bytesOf({ bytes, messages: places }: ReceivedBody, from: number, to: number): Uint8Array {
  return bytes.subarray(places[2 * from], places[2 * to - 1]);
}
