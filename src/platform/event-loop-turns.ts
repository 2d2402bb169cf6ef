/**
 * Promises for the end of a turn of the event loop: one for all who ask in that turn, in whose order they go on. What is processed
 * together finds its code and tables in the processor's caches; processed one by one, between reads and writes of other requests,
 * each piece costs several times as much.
 */
export function endsOfTurns(): () => Promise<void> {
  let turn: PromiseWithResolvers<void> | undefined;
  const end = () => {
    const ended = turn;
    turn = undefined;
    ended?.resolve();
  };
  return () => {
    if (turn === undefined) {
      turn = Promise.withResolvers();
      setImmediate(end);
    }
    return turn.promise;
  };
}

/**
 * Gives turns of the event loop to work that takes tens of milliseconds: one waiter a turn, in order of arrival. So two such pieces
 * of work, of one request or of two, never run without other requests being served in between.
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
