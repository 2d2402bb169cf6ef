/** A run of messages in a body, or a member of it. */
export interface ReceivedRun {
  readonly bytes: Uint8Array;
  /** Stands for these bytes, where they were recognized before. */
  readonly known: object | undefined;
  /** Whether it is the end of its conversation, which will have grown at the next turn. */
  readonly isTail?: boolean;
}

/** Knows in which messages of a run, or whether in a member, there was something to redact. */
export interface ScannedRuns {
  /** The messages of a run in which something was found, by their index in it: none where it is clean. Undefined where that is not known. */
  foundIn(run: ReceivedRun): readonly number[] | undefined;
  remember(run: ReceivedRun, found: readonly number[]): void;
  /** The same for all messages that a conversation begins with: what stands for them, and their length in bytes. */
  foundInBeginning(identity: object, length: number): readonly number[] | undefined;
  rememberBeginning(identity: object, length: number, found: readonly number[]): void;
}

export const nothingFound: readonly number[] = [];
