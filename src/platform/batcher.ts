/**
 * Batches work that nobody waits for. Items of a kind that are processed together find their code and tables in the processor's
 * caches; processed once per request, between other work, each costs several times as much. A batch is passed on when it has so many
 * items, or when its first is so many milliseconds old.
 */
export function createBatcher<T>(size: number, withinMs: number, onFlush: (gathered: readonly T[]) => void) {
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
    add(item: T): void {
      if (gathered.push(item) >= size) flush();
      else if (timer === undefined) {
        timer = setTimeout(flush, withinMs);
        timer.unref();
      }
    },
    /** Passes on the collected items now. */
    flush,
  };
}
