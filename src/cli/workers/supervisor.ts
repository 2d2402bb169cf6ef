import { version } from "#build.ts";
import type { Settings } from "#config/settings.ts";
import { worstReport } from "#http/endpoints/health.ts";
import { type Log, logId } from "#telemetry/log/log.ts";
import type { MetricSnapshot } from "#telemetry/metrics/declarations.ts";
import { createMetrics } from "#telemetry/metrics/metrics.ts";
import { mergeMetrics, withoutGauges } from "#telemetry/metrics/snapshot.ts";
import { type Message, openChannel, type Report } from "./channel.ts";

/** In the environment of a worker: its number, from 1. */
export const workerVariable = "SMART_GATEWAY_WORKER";
/** Of the single-file executable the second argument is the program inside it, which it runs by itself. */
const programArguments = Bun.main.startsWith("/$bunfs/")
  ? process.argv.slice(2)
  : [...process.execArgv, ...process.argv.slice(1)];

/** The pause before a restart: doubled with each early exit in a row, up to the maximum, in milliseconds. */
const restartBaseMs = 500;
const restartMaxMs = 30_000;
/** A worker that ran this long is restarted after the shortest pause. */
const steadyMs = 60_000;
/** Failed starts of each worker, while none serves, before the gateway gives up. */
const maxFailedStarts = 3;
/** The exit code of bad settings or files: a restart cannot succeed. */
const badConfiguration = 2;
/** How often the counters are fetched, so that a worker that crashes loses few of them. */
const pollEveryMs = 10_000;
/** A worker that leaves so many polls in a row unanswered hangs. A supervisor that was stopped itself has sent none. */
const maxUnanswered = 2;
/** How long the slowest worker is waited for when a caller asks for the metrics or health of all, in milliseconds. */
const collectWithinMs = 1_000;

/**
 * Runs `WORKERS` processes of this same command on one port. Ends when all have ended: 0 after a signal to stop, else
 * the exit code of those that could not start. Throws when the port is taken.
 */
export async function superviseWorkers(settings: Settings, env: NodeJS.ProcessEnv, log: Log): Promise<number> {
  claimPort(settings.host, settings.port);
  const wanted = settings.workers;
  const startedMs = performance.now();
  /** By the number of the worker. */
  const processes = new Map<number, WorkerProcess>();
  const stopped = Promise.withResolvers<void>();
  let stopping = false;
  let exitCode = 0;
  /** Starts in a row, of any worker, that never served. */
  let failedStarts = 0;
  /** The counters of processes that have exited. */
  let retired: readonly MetricSnapshot[] = [];
  const serving = () => [...processes.values()].filter((worker) => worker.serving);
  const count = () => ({ wanted, serving: serving().length });
  /** Of the supervisor itself: starts and exits of workers. */
  const metrics = createMetrics();
  metrics.observe({ version, workers: count });

  const forward = (signal: NodeJS.Signals) => {
    for (const { child } of processes.values()) child.kill(signal);
  };
  /** Stops restarting, and passes the signal on. */
  const stop = (signal: NodeJS.Signals | undefined) => {
    stopping = true;
    stopped.resolve();
    if (signal !== undefined) forward(signal);
  };
  process.on("SIGTERM", () => stop("SIGTERM"));
  // At a terminal Ctrl-C reaches the workers by itself, and a second signal would make them skip the drain.
  process.on("SIGINT", () => stop(process.stdin.isTTY === true ? undefined : "SIGINT"));
  process.on("SIGHUP", () => forward("SIGHUP"));

  /** The metrics of a worker that does not answer in time are those that were last read. */
  const reportOfAll = async (): Promise<Report> => {
    const reports = await Promise.all(serving().map((worker) => worker.read(collectWithinMs)));
    // Nothing is awaited between here and the sum: what a process has counted is in it once.
    const all = [metrics.snapshot(), ...[...processes.values()].map((worker) => worker.metrics), retired];
    const health = reports.flatMap((report) => report?.health ?? []);
    const answering = { wanted, serving: health.length };
    return { metrics: mergeMetrics(all), health: worstReport(health, answering, performance.now() - startedMs) };
  };

  const keepRunning = async (number: number): Promise<void> => {
    const own = { [workerVariable]: String(number), NODE_ID: `${settings.nodeId}.${number}` };
    for (let early = 0; !stopping; ) {
      const begunMs = performance.now();
      const worker = new WorkerProcess({ ...env, ...own }, reportOfAll, () => {
        failedStarts = 0;
      });
      processes.set(number, worker);
      const { child } = worker;
      const code = await child.exited;
      const livedMs = performance.now() - begunMs;
      processes.delete(number);
      retired = mergeMetrics([retired, withoutGauges(worker.metrics)]);
      if (stopping) return;

      early = livedMs < steadyMs ? early + 1 : 1;
      if (!worker.serving) failedStarts += 1;
      metrics.count("smart_gateway_worker_exits_total", 1, String(worker.serving));
      const failsAgain = code === badConfiguration || failedStarts >= maxFailedStarts * wanted;
      const givenUp = !worker.serving && failsAgain && serving().length === 0;
      const pauseMs = Math.min(restartMaxMs, restartBaseMs * 2 ** Math.min(early - 1, 10));
      log("worker_exited", {
        worker: number,
        pid: child.pid,
        code,
        ...(child.signalCode === null ? {} : { signal: logId(String(child.signalCode)) }),
        started: worker.serving,
        lived_ms: Math.round(livedMs),
        ...(givenUp ? {} : { restart_in_ms: pauseMs }),
      });
      if (givenUp) {
        exitCode = code === 0 ? 1 : code;
        return stop("SIGTERM");
      }
      await Promise.race([Bun.sleep(pauseMs), stopped.promise]);
    }
  };

  const polling = setInterval(() => {
    for (const [number, worker] of processes) {
      if (!worker.serving) continue;
      void worker.isHanging().then((hangs) => {
        // A draining worker may be busy with its last requests.
        if (!hangs || stopping || processes.get(number) !== worker) return;
        log("worker_unresponsive", { worker: number, pid: worker.child.pid });
        worker.child.kill("SIGKILL");
      });
    }
  }, pollEveryMs);
  await Promise.all(Array.from({ length: wanted }, (_, at) => keepRunning(at + 1)));
  clearInterval(polling);
  return exitCode;
}

/**
 * Claims the port until this process ends, also while none of its workers listens. Workers share their port through
 * `reusePort`; without the claim the system would let a second gateway share it, with other settings and another
 * database.
 */
function claimPort(hostname: string, port: number): void {
  const socket = { data() {} };
  // A name in Linux's abstract socket namespace is taken atomically. Sharing a port as workers do is Linux's own, too.
  if (process.platform === "linux") Bun.listen({ unix: `\0smart-gateway:${port}`, socket });
  // Without `reusePort` this fails on whatever listens there, with or without it.
  Bun.listen({ hostname, port, exclusive: true, socket }).stop(true);
}

/** One of the workers, until it exits. */
class WorkerProcess {
  readonly child: Bun.Subprocess<"ignore", "inherit", "inherit">;
  readonly #channel: ReturnType<typeof openChannel>;
  serving = false;
  /** Polls in a row without an answer. */
  #unanswered = 0;
  /** Its counters when they were last read. */
  metrics: readonly MetricSnapshot[] = [];

  constructor(env: NodeJS.ProcessEnv, reportOfAll: () => Promise<Report>, onServing: () => void) {
    this.#channel = openChannel((message) => this.child.send(message), reportOfAll);
    this.child = Bun.spawn([process.execPath, ...programArguments], {
      env,
      stdio: ["ignore", "inherit", "inherit"],
      ipc: (message: Message) => {
        void this.#channel.received(message);
        if (message.kind !== "serving") return;
        this.serving = true;
        onServing();
      },
    });
  }

  /** What it says of itself; undefined where it does not answer in time. */
  async read(withinMs: number): Promise<Report | undefined> {
    const report = await this.#channel.ask(withinMs);
    if (report !== undefined) this.metrics = report.metrics;
    return report;
  }

  /** Reads its counters. The system still gives connections to a worker that hangs, and nobody answers them. */
  async isHanging(): Promise<boolean> {
    const report = await this.read(pollEveryMs);
    this.#unanswered = report === undefined ? this.#unanswered + 1 : 0;
    return this.#unanswered >= maxUnanswered;
  }
}
