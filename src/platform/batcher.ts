/**
 * Batches work that nobody waits for. Items of a kind that are processed together find their code and tables in the
 * processor's caches; processed once per request, between other work, each costs several times as much. A batch is
 * passed on when it has so many items, or when its first is so many milliseconds old.
 */
export function createBatcher<T>(size: number, withinMs: number, onFlush: (batch: readonly T[]) => void) {
  let batch: T[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (batch.length === 0) return;
    const full = batch;
    batch = [];
    onFlush(full);
  };
  return {
    add(item: T): void {
      if (batch.push(item) >= size) flush();
      else if (timer === undefined) {
        timer = setTimeout(flush, withinMs);
        timer.unref();
      }
    },
    /** Passes on the collected items now. */
    flush,
  };
}
