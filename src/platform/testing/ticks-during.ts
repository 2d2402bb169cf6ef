/** Runs `run` and counts the ticks of the event loop that pass until its promise settles. */
export async function ticksDuring<T>(run: () => Promise<T>): Promise<{ readonly ticks: number; readonly value: T }> {
  let ticks = 0;
  let counting = true;
  const count = () => {
    ticks += 1;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  try {
    const value = await run();
    return { ticks, value };
  } finally {
    counting = false;
  }
}
