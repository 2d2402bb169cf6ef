import type { KnownRun } from "#domain/received/known-messages.ts";

/** A run of messages in a body, or a member of it. */
export interface ReceivedRun {
  readonly bytes: Uint8Array;
  /** Stands for these bytes, where they were recognized before. */
  readonly known: KnownRun | undefined;
}

/** Knows runs of messages, and members, in which there was nothing to redact. */
export interface CleanRuns {
  isClean(run: ReceivedRun): boolean;
  rememberClean(run: ReceivedRun): void;
}
