const variable = "BUN_CONFIG_MAX_HTTP_REQUESTS";
/** More than streams are ever admitted; the limits that count are ours. */
const mostCalls = "65336";

/**
 * Begins this process anew, under the same id, with room for more than the 256 upstream calls at once that the runtime
 * allows by default. It reads the limit when it starts and never again, so setting it from inside comes too late. Does
 * nothing where the limit is set already, or where a process cannot be replaced.
 */
export function allowManyUpstreamCalls(env: NodeJS.ProcessEnv): void {
  if (env[variable] !== undefined || process.execve === undefined || process.platform === "win32") return;
  // In a compiled binary the script is inside: its path in argv leads nowhere.
  const compiled = process.argv[1]?.startsWith("/$bunfs/") === true;
  const args = compiled ? process.argv.slice(2) : process.argv.slice(1);
  process.execve(process.execPath, [process.execPath, ...process.execArgv, ...args], { ...env, [variable]: mostCalls });
}
