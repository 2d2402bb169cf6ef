/**
 * Gathers what comes up during one turn of the event loop and hands all of it over at the turn's end. What a busy process
 * does for many requests one after the other finds its code and tables in the processor's caches; done for each on its own,
 * between reads and writes of others, the same work costs several times as much.
 */
export function coalescePerTurn<T>(handOver: (gathered: readonly T[]) => void): (item: T) => void {
  let gathered: T[] = [];
  const end = () => {
    const all = gathered;
    gathered = [];
    handOver(all);
  };
  return (item) => {
    if (gathered.push(item) === 1) setImmediate(end);
  };
}

/**
 * Turns of the event loop for work that takes tens of milliseconds: one waiter a turn, in the order in which they came, so
 * that no two such pieces of work, of the same request or of different ones, follow each other without others being served.
 */
export function oneTaskPerTurn(): () => Promise<void> {
  const waiting: (() => void)[] = [];
  const next = () => {
    // Before the waiter goes on: its work is done before the next turn begins.
    if (waiting.length > 1) setImmediate(next);
    waiting.shift()?.();
  };
  return () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(next);
    });
}

/** The turns of this process, which has one event loop: all work on large bodies waits for them. */
export const largeWorkTurn = oneTaskPerTurn();

/** Bodies above so many bytes are large: what is done with them is done in turns. */
export const largeBodyBytes = 1_000_000;

/** Work in steps, each in a turn of its own. */
export async function runInTurns<T>(steps: Generator<undefined, T>): Promise<T> {
  for (;;) {
    await largeWorkTurn();
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Work in steps, all of them now. */
export function runAtOnce<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
