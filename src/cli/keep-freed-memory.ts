const variable = "MIMALLOC_PURGE_DELAY";

/**
 * For so long the allocator keeps memory that is free before it gives it back. Its default of 10 ms hands pages back and
 * has them zeroed again many times a second.
 */
const purgeDelayMs = "2000";

/**
 * Begins this process anew, under the same id, with an allocator that keeps its memory between requests. It reads its
 * settings when the process starts and never again, so setting them from inside comes too late. Does nothing where
 * the setting is made already, or where a process cannot be replaced.
 */
export function keepFreedMemory(env: NodeJS.ProcessEnv): void {
  if (env[variable] !== undefined || process.execve === undefined || process.platform === "win32") return;
  // In a compiled binary the script is inside: its path in argv leads nowhere.
  const compiled = process.argv[1]?.startsWith("/$bunfs/") === true;
  const args = compiled ? process.argv.slice(2) : process.argv.slice(1);
  process.execve(process.execPath, [process.execPath, ...process.execArgv, ...args], {
    ...env,
    [variable]: purgeDelayMs,
  });
}
