/** Items on their way to be handed over together. */
export interface Batcher<T> {
  add(item: T): void;
  /** Hands over what has gathered, now. */
  flush(): void;
}

export interface BatcherOptions<T> {
  /** This many are handed over at once. */
  readonly size: number;
  /** Fewer are handed over when the first of them is this old, in milliseconds. */
  readonly withinMs: number;
  readonly onFlush: (gathered: readonly T[]) => void;
}

/**
 * Gathers work that nobody waits for. Many of a kind done one after the other find their code and tables in the
 * processor's caches; done once per request, between everything else, the same work costs several times as much.
 */
export function createBatcher<T>({ size, withinMs, onFlush }: BatcherOptions<T>): Batcher<T> {
  let gathered: T[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (gathered.length === 0) return;
    const all = gathered;
    gathered = [];
    onFlush(all);
  };
  return {
    add(item) {
      if (gathered.push(item) >= size) flush();
      else if (timer === undefined) {
        timer = setTimeout(flush, withinMs);
        timer.unref();
      }
    },
    flush,
  };
}
