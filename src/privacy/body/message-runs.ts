import type { ReceivedBody } from "#domain/chat.ts";

/** Shorter runs are read message by message: a tag has a price of its own, whatever the length. */
const minRunBytes = 32_768;

/** Messages that follow one another, and their bytes. */
export interface MessageRun {
  /** Index of the first. */
  readonly from: number;
  /** Index behind the last. */
  readonly to: number;
  readonly bytes: Uint8Array;
}

/** Knows runs of messages in which there was nothing to redact, by their bytes. */
export interface CleanRuns {
  isClean(run: MessageRun): boolean;
  rememberClean(run: MessageRun): void;
}

/**
 * The messages in runs of at least 32 KB, counted from the first message on: an agent adds messages at the end, so all runs but the
 * last are the same at the next turn. What is left at the end belongs to no run.
 */
export function messageRuns({ bytes, messages }: ReceivedBody): MessageRun[] {
  const runs: MessageRun[] = [];
  let from = 0;
  for (let index = 0; 2 * index < messages.length; index++) {
    const start = messages[2 * from] ?? 0;
    const end = messages[2 * index + 1] ?? 0;
    if (end - start < minRunBytes) continue;
    runs.push({ from, to: index + 1, bytes: bytes.subarray(start, end) });
    from = index + 1;
  }
  return runs;
}
