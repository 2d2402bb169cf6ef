const variable = "BUN_CONFIG_MAX_HTTP_REQUESTS";
/** More than streams are ever admitted; the limits that count are ours. */
const mostCalls = "65336";

/**
 * For so long the allocator keeps memory that is free before it gives it back. Its default of 10 ms hands pages back and
 * has them zeroed again many times a second, which was a twentieth of a request's processor time.
 */
const purgeDelayMs = "2000";

/**
 * Begins this process anew, under the same id, with room for more than the 256 upstream calls at once that the runtime
 * allows by default, and with an allocator that keeps its memory between requests. Both are read when the process starts
 * and never again, so setting them from inside comes too late. Does nothing where the limit is set already, or where a
 * process cannot be replaced.
 */
export function allowManyUpstreamCalls(env: NodeJS.ProcessEnv): void {
  if (env[variable] !== undefined || process.execve === undefined || process.platform === "win32") return;
  // In a compiled binary the script is inside: its path in argv leads nowhere.
  const compiled = process.argv[1]?.startsWith("/$bunfs/") === true;
  const args = compiled ? process.argv.slice(2) : process.argv.slice(1);
  process.execve(process.execPath, [process.execPath, ...process.execArgv, ...args], {
    MIMALLOC_PURGE_DELAY: purgeDelayMs,
    ...env,
    [variable]: mostCalls,
  });
}
