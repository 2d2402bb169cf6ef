import type { TextTag } from "#platform/keyed-memory/text-tags.ts";
import type { Span } from "#privacy/text/spans.ts";

/** A run of messages in a body, or a member of it. */
export interface ReceivedRun {
  readonly bytes: Uint8Array;
  /** Stands for these bytes, where they were recognized before. */
  readonly known: object | undefined;
  /** Whether it is the end of its conversation, which will have grown at the next turn. */
  readonly isTail?: boolean;
}

/** A message in which something was found. */
export interface FoundMessage {
  /** In its run, or in the beginning of its conversation. */
  readonly index: number;
  /** Under which the places in it are remembered; undefined where it has to be read. */
  readonly tag: TextTag | undefined;
}

/** Knows in which messages of a run, or whether in a member, there was something to redact. */
export interface ScannedRuns {
  /** The messages of a run in which something was found: none where it is clean. Undefined where that is not known. */
  foundIn(run: ReceivedRun): readonly FoundMessage[] | undefined;
  remember(run: ReceivedRun, found: readonly FoundMessage[]): void;
  /** The same for all messages that a conversation begins with: what stands for them, and their length in bytes. */
  foundInBeginning(identity: object, length: number): readonly FoundMessage[] | undefined;
  rememberBeginning(identity: object, length: number, found: readonly FoundMessage[]): void;
  /** Where in the bytes of a message the values stand that are to be replaced; undefined where that is forgotten. */
  placesIn(tag: TextTag): readonly Span[] | undefined;
  /** @returns the tag of these bytes; undefined where some texts of the body have not been read */
  rememberPlaces(message: Uint8Array, places: readonly Span[]): TextTag | undefined;
}

export const nothingFound: readonly FoundMessage[] = [];
