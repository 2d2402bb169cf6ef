/**
 * Gives ticks of the event loop to work that takes tens of milliseconds: one waiter a tick, in order of arrival. So two
 * such pieces of work, of one request or of two, never run without other requests being served in between.
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
