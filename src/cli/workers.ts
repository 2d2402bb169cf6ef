import type { Settings } from "#settings/settings.ts";

const variable = "SMART_GATEWAY_WORKER";

/** Which of the workers this process is, 1 and up; undefined for the process that starts them (or is the only one). */
export function workerNumber(env: NodeJS.ProcessEnv): number | undefined {
  const text = env[variable];
  return text === undefined ? undefined : Number(text);
}

/**
 * Runs `WORKERS` processes of this same command on one port, hands them our signals, and starts one anew that died. Ends
 * when all have ended: 0 if they were told to, else the exit code of the one that could not start.
 */
export async function superviseWorkers(settings: Settings, env: NodeJS.ProcessEnv): Promise<number> {
  let stopping = false;
  let failure = 0;
  const children = new Map<number, Bun.Subprocess>();

  const run = async (worker: number): Promise<void> => {
    while (!stopping) {
      const begunMs = performance.now();
      const child = Bun.spawn([process.execPath, ...process.argv.slice(1)], {
        env: { ...env, [variable]: String(worker), NODE_ID: `${settings.nodeId}.${worker}` },
        stdio: ["ignore", "inherit", "inherit"],
      });
      children.set(worker, child);
      const code = await child.exited;
      children.delete(worker);
      if (stopping) return;
      // A worker that cannot even start will not start the next time either.
      if (code === 2 || performance.now() - begunMs < 3_000) {
        failure = code === 0 ? 1 : code;
        stop("SIGTERM");
        return;
      }
      await Bun.sleep(500);
    }
  };
  const stop = (signal: NodeJS.Signals) => {
    stopping = true;
    for (const child of children.values()) child.kill(signal);
  };
  process.on("SIGTERM", () => stop("SIGTERM"));
  process.on("SIGINT", () => {
    // At a terminal Ctrl-C reaches the workers by itself, and a second signal would hurry them.
    stopping = true;
    if (process.stdin.isTTY !== true) stop("SIGINT");
  });
  process.on("SIGHUP", () => {
    for (const child of children.values()) child.kill("SIGHUP");
  });
  await Promise.all(Array.from({ length: settings.workers }, (_, index) => run(index + 1)));
  return failure;
}
