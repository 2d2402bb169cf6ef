/** Collects items and passes them on in batches. */
export interface Batcher<T> {
  add(item: T): void;
  /** Passes on the collected items now. */
  flush(): void;
}

export interface BatcherOptions<T> {
  /** The size at which a batch is passed on. */
  readonly size: number;
  /** A smaller batch is passed on when its first item is this old, in milliseconds. */
  readonly withinMs: number;
  readonly onFlush: (gathered: readonly T[]) => void;
}

/**
 * Batches work that nobody waits for. Items of a kind that are processed together find their code and tables in the processor's
 * caches; processed once per request, between other work, each costs several times as much.
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
