/**
 * Promises for the end of a tick of the event loop: one for all who ask in that tick, in whose order they go on. What is processed
 * together finds its code and tables in the processor's caches; processed one by one, between reads and writes of other requests,
 * each piece costs several times as much.
 */
export function endsOfTicks(): () => Promise<void> {
  let tick: PromiseWithResolvers<void> | undefined;
  const end = () => {
    const ended = tick;
    tick = undefined;
    ended?.resolve();
  };
  return () => {
    if (tick === undefined) {
      tick = Promise.withResolvers();
      setImmediate(end);
    }
    return tick.promise;
  };
}

/**
 * Gives ticks of the event loop to work that takes tens of milliseconds: one waiter a tick, in order of arrival. So two such pieces
 * of work, of one request or of two, never run without other requests being served in between.
 */
function oneTaskPerTick(): () => Promise<void> {
  const waiting: (() => void)[] = [];
  const next = () => {
    // Before the waiter goes on: its work is done before the next tick begins.
    if (waiting.length > 1) setImmediate(next);
    waiting.shift()?.();
  };
  return () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(next);
    });
}

/** All work on large bodies of this process waits for its tick here. */
export const nextLargeTask = oneTaskPerTick();

/** Bodies above so many bytes are large. */
export const largeBodyBytes = 1_000_000;
