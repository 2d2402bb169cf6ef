/** Shorter runs are read message by message: a tag has a price of its own, whatever the length. */
export const minRunBytes = 16_384;
/** A run is at least so large a part of what stands before it: each new one has all of the conversation remembered anew. */
const minRunShare = 1 / 16;

/** Messages that follow one another. */
export interface MessageRun {
  /** Index of the first. */
  readonly from: number;
  /** Index behind the last. */
  readonly to: number;
}

/**
 * The messages in runs of at least 16 KB, from 256 KB on of more, counted from the first message on: an agent adds messages at the end, so all
 * runs but the last are the same at the next turn. What is left at the end belongs to no run.
 * @param places where message i stands in the body: from [2i] to [2i + 1]
 * @param first index of the first message that belongs to no run before
 */
export function messageRuns(places: readonly number[], first = 0): MessageRun[] {
  const runs: MessageRun[] = [];
  const begin = places[0] ?? 0;
  let from = first;
  for (let index = first; 2 * index < places.length; index++) {
    const start = places[2 * from] ?? 0;
    const length = (places[2 * index + 1] ?? 0) - start;
    if (length < Math.max(minRunBytes, minRunShare * (start - begin))) continue;
    runs.push({ from, to: index + 1 });
    from = index + 1;
  }
  return runs;
}
