/** Runs `run` and counts the turns of the event loop that pass until its promise settles. */
export async function turnsDuring<T>(run: () => Promise<T>): Promise<{ readonly turns: number; readonly value: T }> {
  let turns = 0;
  let counting = true;
  const count = () => {
    turns += 1;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  try {
    const value = await run();
    return { turns, value };
  } finally {
    counting = false;
  }
}
