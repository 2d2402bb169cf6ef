import type { Settings } from "#config/settings.ts";
import { worstReport } from "#http/endpoints/health.ts";
import { type Log, logId } from "#telemetry/log/log.ts";
import type { MetricSnapshot } from "#telemetry/metrics/declarations.ts";
import { createMetrics } from "#telemetry/metrics/metrics.ts";
import { mergeMetrics, withoutGauges } from "#telemetry/metrics/snapshot.ts";
import { version } from "../../../package.json";
import { Channel, type Message, type Report } from "./channel.ts";

/** In the environment of a worker: its number, from 1. */
export const workerVariable = "SMART_GATEWAY_WORKER";
/** Of the single-file executable the second argument is the program inside it, which it runs by itself. */
const programArguments = process.argv.slice(Bun.main.startsWith("/$bunfs/") ? 2 : 1);

/** The pause before a worker is restarted: doubled with each early exit in a row, up to the maximum, in milliseconds. */
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
/** A worker that leaves this many polls in a row unanswered hangs. A supervisor that was stopped itself has sent none. */
const maxUnanswered = 2;
/** How long the slowest worker is waited for when a caller asks for the metrics or health of all, in milliseconds. */
const collectWithinMs = 1_000;

/**
 * Runs `WORKERS` processes of this same command on one port, forwards our signals to them, and restarts each that exits,
 * after a pause that grows. Ends when all have ended: 0 after a signal to stop, else the exit code of those that could not
 * start. Throws when the port is taken.
 */
export function superviseWorkers(settings: Settings, env: NodeJS.ProcessEnv, log: Log): Promise<number> {
  claimPort(settings.host, settings.port);
  const supervisor = new Supervisor(settings, env, log);
  process.on("SIGTERM", () => supervisor.stop("SIGTERM"));
  // At a terminal Ctrl-C reaches the workers by itself, and a second signal would make them skip the drain.
  process.on("SIGINT", () => supervisor.stop(process.stdin.isTTY === true ? undefined : "SIGINT"));
  process.on("SIGHUP", () => supervisor.forward("SIGHUP"));
  return supervisor.run();
}

/**
 * Claims the port until this process ends, also while none of its workers listens. Workers share their port through `reusePort`;
 * without the claim the system would let a second gateway share it, with other settings and another database.
 */
function claimPort(hostname: string, port: number): void {
  const socket = { data() {} };
  // A name in Linux's abstract socket namespace is taken atomically. Sharing a port as workers do is Linux's own, too.
  if (process.platform === "linux") Bun.listen({ unix: `\0smart-gateway:${port}`, socket });
  // Without `reusePort` this fails on whatever listens there, with or without it.
  Bun.listen({ hostname, port, exclusive: true, socket }).stop(true);
}

/** One of the workers, over all of its processes. */
class Worker {
  readonly number: number;
  readonly channel: Channel;
  child: Bun.Subprocess<"ignore", "inherit", "inherit"> | undefined;
  serving = false;
  /** Polls in a row without an answer. */
  unanswered = 0;
  /** Its counters when they were last read. */
  metrics: readonly MetricSnapshot[] = [];

  constructor(number: number, reportOfAll: () => Promise<Report>) {
    this.number = number;
    this.channel = new Channel((message) => this.child?.send(message), reportOfAll);
  }

  /** What it says of itself; undefined where it does not answer in time. */
  async read(withinMs: number): Promise<Report | undefined> {
    const report = await this.channel.ask(withinMs);
    if (report !== undefined && this.serving) this.metrics = report.metrics;
    return report;
  }

  /** Forgets a process that has exited. Returns what outlives it: its counters. */
  reset(): readonly MetricSnapshot[] {
    const counters = withoutGauges(this.metrics);
    this.child = undefined;
    this.serving = false;
    this.unanswered = 0;
    this.metrics = [];
    this.channel.close();
    return counters;
  }
}

class Supervisor {
  readonly #settings: Settings;
  readonly #env: NodeJS.ProcessEnv;
  readonly #log: Log;
  readonly #workers: readonly Worker[];
  readonly #startedMs = performance.now();
  /** Of the supervisor itself: starts and exits of workers. */
  readonly #metrics = createMetrics();
  readonly #stopped = Promise.withResolvers<void>();
  #stopping = false;
  /** The counters of processes that have exited. */
  #retired: readonly MetricSnapshot[] = [];
  #everServed = false;
  /** Starts in a row, of any worker, that never served. */
  #failedStarts = 0;
  #exitCode = 0;

  constructor(settings: Settings, env: NodeJS.ProcessEnv, log: Log) {
    this.#settings = settings;
    this.#env = env;
    this.#log = log;
    this.#workers = Array.from({ length: settings.workers }, (_, at) => new Worker(at + 1, () => this.#reportOfAll()));
    this.#metrics.observe({ version, workers: () => this.#count() });
  }

  /** Resolves with the exit code once all workers have ended for good. */
  async run(): Promise<number> {
    const polling = setInterval(() => {
      for (const worker of this.#serving()) void this.#poll(worker);
    }, pollEveryMs);
    await Promise.all(this.#workers.map((worker) => this.#keepRunning(worker)));
    clearInterval(polling);
    return this.#exitCode;
  }

  /** Stops restarting, and passes the signal on. */
  stop(signal: NodeJS.Signals | undefined): void {
    this.#stopping = true;
    this.#stopped.resolve();
    if (signal !== undefined) this.forward(signal);
  }

  forward(signal: NodeJS.Signals): void {
    for (const { child } of this.#workers) child?.kill(signal);
  }

  async #keepRunning(worker: Worker): Promise<void> {
    for (let early = 0; !this.#stopping; ) {
      const startedMs = performance.now();
      const child = this.#start(worker);
      const code = await child.exited;
      const livedMs = performance.now() - startedMs;
      const started = worker.serving;
      this.#retired = mergeMetrics([this.#retired, worker.reset()]);
      if (this.#stopping) return;

      early = livedMs < steadyMs ? early + 1 : 1;
      if (!started) this.#failedStarts += 1;
      this.#metrics.count("smart_gateway_worker_exits_total", 1, String(started));
      const givenUp = this.#isHopeless(code);
      const pauseMs = Math.min(restartMaxMs, restartBaseMs * 2 ** Math.min(early - 1, 10));
      this.#log("worker_exited", {
        worker: worker.number,
        pid: child.pid,
        code,
        ...(child.signalCode === null ? {} : { signal: logId(String(child.signalCode)) }),
        started,
        lived_ms: Math.round(livedMs),
        ...(givenUp ? {} : { restart_in_ms: pauseMs }),
      });
      if (givenUp) {
        this.#exitCode = code === 0 ? 1 : code;
        return this.stop("SIGTERM");
      }
      await Promise.race([Bun.sleep(pauseMs), this.#stopped.promise]);
    }
  }

  #start(worker: Worker) {
    const { nodeId } = this.#settings;
    worker.child = Bun.spawn([process.execPath, ...programArguments], {
      env: { ...this.#env, [workerVariable]: String(worker.number), NODE_ID: `${nodeId}.${worker.number}` },
      stdio: ["ignore", "inherit", "inherit"],
      ipc: (message: Message) => {
        void worker.channel.received(message);
        if (message.kind !== "serving") return;
        worker.serving = true;
        this.#everServed = true;
        this.#failedStarts = 0;
      },
    });
    return worker.child;
  }

  /** Whether the next start would fail as well. */
  #isHopeless(code: number): boolean {
    if (!this.#everServed && code === badConfiguration) return true;
    return this.#serving().length === 0 && this.#failedStarts >= maxFailedStarts * this.#workers.length;
  }

  /** The system still gives connections to a worker that hangs, and nobody answers them: it is replaced. */
  async #poll(worker: Worker): Promise<void> {
    const { child } = worker;
    const report = await worker.read(pollEveryMs);
    if (child === undefined || worker.child !== child) return;
    worker.unanswered = report === undefined ? worker.unanswered + 1 : 0;
    // A draining worker may be busy with its last requests.
    if (worker.unanswered < maxUnanswered || this.#stopping) return;
    this.#log("worker_unresponsive", { worker: worker.number, pid: child.pid });
    child.kill("SIGKILL");
  }

  /** The metrics of a worker that does not answer in time are those that were last read. */
  async #reportOfAll(): Promise<Report> {
    const reports = await Promise.all(this.#serving().map((worker) => worker.read(collectWithinMs)));
    // Nothing is awaited between here and the sum: what a process has counted is in it once.
    const metrics = [this.#metrics.snapshot(), ...this.#workers.map((worker) => worker.metrics), this.#retired];
    const health = reports.flatMap((report) => report?.health ?? []);
    const count = { ...this.#count(), serving: health.length };
    return {
      metrics: mergeMetrics(metrics),
      health: worstReport(health, count, performance.now() - this.#startedMs),
    };
  }

  #serving(): readonly Worker[] {
    return this.#workers.filter(({ serving }) => serving);
  }

  #count(): { readonly wanted: number; readonly serving: number } {
    return { wanted: this.#workers.length, serving: this.#serving().length };
  }
}
