import type { Settings } from "#config/settings.ts";
import { worstReport } from "#http/endpoints/health.ts";
import { type Log, logId } from "#telemetry/log/log.ts";
import { createMetrics } from "#telemetry/metrics/metrics.ts";
import { expositionText, type MetricSnapshot, mergeMetrics, withoutGauges } from "#telemetry/metrics/snapshot.ts";
import { version } from "../../../package.json";
import { Channel, type Merged, type Message, type Snapshots, type Subject } from "./channel.ts";
import { claimPort, type PortClaim } from "./port-claim.ts";

const variable = "SMART_GATEWAY_WORKER";
/** Of the single-file executable the second argument is the program inside it, which it runs by itself. */
const programArguments = process.argv.slice(Bun.main.startsWith("/$bunfs/") ? 2 : 1);

/** Which of the workers this process is, 1 and up; undefined for the process that starts them (or is the only one). */
export function workerNumber(env: NodeJS.ProcessEnv): number | undefined {
  const text = env[variable];
  return text === undefined ? undefined : Number(text);
}

/** The pause before a worker is restarted: doubled with each early exit in a row, up to the maximum, in milliseconds. */
const restartBaseMs = 500;
const restartMaxMs = 30_000;
/** A worker that ran this long is restarted after the shortest pause. */
const steadyMs = 60_000;
/** Starts in a row that fail, of every worker and with the same exit code, before the gateway gives up. */
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
 * start. Throws when the port cannot be claimed.
 */
export async function superviseWorkers(settings: Settings, env: NodeJS.ProcessEnv, log: Log): Promise<number> {
  const startedMs = performance.now();
  const claim = await claimPort(settings.host, settings.port);
  const supervisor = new Supervisor({ settings, env, log, claim, startedMs });
  process.on("SIGTERM", () => supervisor.stop("SIGTERM"));
  // At a terminal Ctrl-C reaches the workers by itself, and a second signal would make them skip the drain.
  process.on("SIGINT", () => supervisor.stop(process.stdin.isTTY === true ? undefined : "SIGINT"));
  process.on("SIGHUP", () => supervisor.forward("SIGHUP"));
  const code = await supervisor.run();
  claim.release();
  return code;
}

interface SupervisorOptions {
  readonly settings: Settings;
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
  readonly claim: PortClaim;
  /** Monotonic milliseconds. */
  readonly startedMs: number;
}

/** One of the workers, over all of its processes. */
class Worker {
  readonly number: number;
  readonly channel: Channel<Snapshots>;
  child: Bun.Subprocess<"ignore", "inherit", "inherit"> | undefined;
  serving = false;
  /** Polls in a row without an answer. */
  unanswered = 0;
  /** Exits within `steadyMs` of the start, in a row. */
  early = 0;
  /** Starts in a row that never served, and the exit code of the last. */
  failedStarts = 0;
  code = -1;
  metrics: readonly MetricSnapshot[] = [];

  constructor(number: number, answer: (subject: Subject) => unknown) {
    this.number = number;
    this.channel = new Channel((message) => this.child?.send(message), answer);
  }

  /** Whether it has answered in time. */
  async readMetrics(withinMs: number): Promise<boolean> {
    const metrics = await this.channel.request("metrics", withinMs);
    if (metrics !== undefined && this.serving) this.metrics = metrics;
    return metrics !== undefined;
  }
}

class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #workers: readonly Worker[];
  /** Of the supervisor itself: starts and exits of workers. */
  readonly #metrics = createMetrics();
  readonly #stopped = new AbortController();
  /** The counters of processes that have exited. */
  #retired: readonly MetricSnapshot[] = [];
  #everServed = false;
  #exitCode = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    const answer = (subject: Subject) => (subject === "health" ? this.#mergedHealth() : this.#mergedMetrics());
    this.#workers = Array.from({ length: options.settings.workers }, (_, index) => new Worker(index + 1, answer));
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
    this.#stopped.abort();
    if (signal !== undefined) this.forward(signal);
  }

  forward(signal: NodeJS.Signals): void {
    for (const { child } of this.#workers) child?.kill(signal);
  }

  #serving(): readonly Worker[] {
    return this.#workers.filter(({ serving }) => serving);
  }

  /** The system still gives connections to a worker that hangs, and nobody answers them: it is replaced. */
  async #poll(worker: Worker): Promise<void> {
    const { child } = worker;
    const answered = await worker.readMetrics(pollEveryMs);
    if (child === undefined || worker.child !== child) return;
    worker.unanswered = answered ? 0 : worker.unanswered + 1;
    // A draining worker may be busy with its last requests.
    if (worker.unanswered < maxUnanswered || this.#stopped.signal.aborted) return;
    this.#options.log("worker_unresponsive", { worker: worker.number, pid: child.pid });
    child.kill("SIGKILL");
  }

  async #keepRunning(worker: Worker): Promise<void> {
    const stopped = this.#stopped.signal;
    while (!stopped.aborted) {
      const startedMs = performance.now();
      const child = this.#start(worker);
      worker.code = await child.exited;
      const livedMs = performance.now() - startedMs;
      const started = worker.serving;
      this.#retire(worker);
      if (stopped.aborted) return;

      worker.early = livedMs < steadyMs ? worker.early + 1 : 1;
      if (!started) worker.failedStarts += 1;
      this.#metrics.workerExited(started);
      const givenUp = this.#everyStartFails();
      const pauseMs = Math.min(restartMaxMs, restartBaseMs * 2 ** Math.min(worker.early - 1, 10));
      this.#options.log("worker_exited", {
        worker: worker.number,
        pid: child.pid,
        code: worker.code,
        ...(child.signalCode === null ? {} : { signal: logId(String(child.signalCode)) }),
        started,
        lived_ms: Math.round(livedMs),
        ...(givenUp ? {} : { restart_in_ms: pauseMs }),
      });
      if (givenUp) {
        this.#exitCode = worker.code === 0 ? 1 : worker.code;
        return this.stop("SIGTERM");
      }
      const { promise: aborted, resolve } = Promise.withResolvers<void>();
      stopped.addEventListener("abort", () => resolve(), { once: true });
      await Promise.race([Bun.sleep(pauseMs), aborted]);
    }
  }

  #start(worker: Worker) {
    const { env, settings } = this.#options;
    worker.child = Bun.spawn([process.execPath, ...programArguments], {
      env: { ...env, [variable]: String(worker.number), NODE_ID: `${settings.nodeId}.${worker.number}` },
      stdio: ["ignore", "inherit", "inherit"],
      ipc: (message: Message) => this.#received(worker, message),
    });
    return worker.child;
  }

  /** Forgets a process that has exited, except for its counters. */
  #retire(worker: Worker): void {
    worker.child = undefined;
    worker.serving = false;
    worker.unanswered = 0;
    worker.channel.close();
    this.#retired = mergeMetrics([this.#retired, withoutGauges(worker.metrics)]);
    worker.metrics = [];
  }

  #received(worker: Worker, message: Message): void {
    if (message.kind !== "serving") return void worker.channel.received(message);
    worker.serving = true;
    worker.failedStarts = 0;
    this.#everServed = true;
    this.#options.claim.listening();
  }

  async #mergedHealth(): Promise<Merged["health"] | undefined> {
    const answers = await Promise.all(this.#serving().map(({ channel }) => channel.request("health", collectWithinMs)));
    const reports = answers.filter((report) => report !== undefined);
    const count = { ...this.#count(), serving: reports.length };
    return worstReport(reports, count, performance.now() - this.#options.startedMs);
  }

  /** A worker that does not answer in time counts with its last snapshot. */
  async #mergedMetrics(): Promise<Merged["metrics"]> {
    await Promise.all(this.#serving().map((worker) => worker.readMetrics(collectWithinMs)));
    // Nothing is awaited between here and the sum: what a process has counted is in it once.
    const ownMetrics = this.#metrics.snapshot();
    return expositionText(mergeMetrics([ownMetrics, ...this.#workers.map(({ metrics }) => metrics), this.#retired]));
  }

  #count(): { readonly wanted: number; readonly serving: number } {
    return { wanted: this.#workers.length, serving: this.#serving().length };
  }

  /** Whether all of them fail at their start, in the same way: then the next start would fail too. */
  #everyStartFails(): boolean {
    if (!this.#everServed && this.#workers.some(({ code }) => code === badConfiguration)) return true;
    const [first] = this.#workers;
    return this.#workers.every(({ failedStarts, code }) => failedStarts >= maxFailedStarts && code === first?.code);
  }
}
