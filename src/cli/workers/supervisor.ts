import type { Settings } from "#config/settings.ts";
import { worstReport } from "#http/endpoints/health.ts";
import { type Log, logId } from "#telemetry/log/log.ts";
import { textOf } from "#telemetry/metrics/exposition.ts";
import { countersOf, type MetricSnapshot, mergeMetrics } from "#telemetry/metrics/merged-metrics.ts";
import { createMetrics } from "#telemetry/metrics/metrics.ts";
import { version } from "../../../package.json";
import type { FromWorker, Merged, Subject } from "./messages.ts";
import { claimPort, type PortClaim } from "./port-claim.ts";
import { ResponseWatch } from "./response-watch.ts";
import { SnapshotCollector, send, type WorkerProcess } from "./snapshot-collector.ts";

const variable = "SMART_GATEWAY_WORKER";

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
const failedStarts = 3;
/** The exit code of bad settings or files: a restart cannot succeed. */
const badConfiguration = 2;
/** How often the counters are fetched, so that a worker that crashes loses few of them. */
const collectEveryMs = 10_000;

interface Worker {
  readonly number: number;
  child: WorkerProcess | undefined;
  serving: boolean;
  /** Exits within `steadyMs` of the start, in a row. */
  early: number;
  /** Starts in a row that never served, and the exit code of the last. */
  failedStarts: number;
  code: number;
  metrics: readonly MetricSnapshot[];
}

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
  process.on("SIGINT", () => {
    // At a terminal Ctrl-C reaches the workers by itself, and a second signal would make them skip the drain.
    if (process.stdin.isTTY === true) supervisor.stopRestarting();
    else supervisor.stop("SIGINT");
  });
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

class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #workers: readonly Worker[];
  /** Of the supervisor itself: starts and exits of workers. */
  readonly #metrics = createMetrics();
  readonly #collector: SnapshotCollector;
  readonly #responses = new ResponseWatch<WorkerProcess>();
  readonly #stopped = new AbortController();
  /** The counters of processes that have exited. */
  #retired: readonly MetricSnapshot[] = [];
  #everServed = false;
  #exitCode = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#workers = Array.from({ length: options.settings.workers }, (_, index): Worker => newWorker(index + 1));
    this.#metrics.observe({ version, workers: () => this.#count() });
    this.#collector = new SnapshotCollector(
      () => this.#serving(),
      (from, metrics) => {
        const worker = this.#workers.find(({ child }) => child === from);
        if (worker !== undefined) worker.metrics = metrics;
      },
    );
  }

  /** Resolves with the exit code once all workers have ended for good. */
  async run(): Promise<number> {
    const polling = setInterval(() => {
      this.#endHanging();
      void this.#collector.collect("metrics");
    }, collectEveryMs);
    await Promise.all(this.#workers.map((worker) => this.#keepRunning(worker)));
    clearInterval(polling);
    return this.#exitCode;
  }

  /** The system still gives connections to a worker that hangs, and nobody answers them: it is replaced. */
  #endHanging(): void {
    for (const child of this.#responses.asking(this.#serving())) {
      // A draining worker may be busy with its last requests.
      if (this.#stopped.signal.aborted) return;
      const worker = this.#workers.find((each) => each.child === child);
      if (worker !== undefined) this.#options.log("worker_unresponsive", { worker: worker.number, pid: child.pid });
      child.kill("SIGKILL");
    }
  }

  #serving(): readonly WorkerProcess[] {
    return this.#workers.flatMap(({ serving, child }) => (serving && child !== undefined ? [child] : []));
  }

  stop(signal: NodeJS.Signals): void {
    this.stopRestarting();
    this.forward(signal);
  }

  stopRestarting(): void {
    this.#stopped.abort();
  }

  forward(signal: NodeJS.Signals): void {
    for (const { child } of this.#workers) child?.kill(signal);
  }

  async #keepRunning(worker: Worker): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const startedMs = performance.now();
      const child = this.#start(worker);
      worker.child = child;
      worker.code = await child.exited;
      const livedMs = performance.now() - startedMs;
      const started = worker.serving;
      this.#retire(worker, child);
      if (this.#stopped.signal.aborted) return;

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
        this.stop("SIGTERM");
        return;
      }
      await pause(pauseMs, this.#stopped.signal);
    }
  }

  #start(worker: Worker): WorkerProcess {
    const { env, settings } = this.#options;
    return Bun.spawn([process.execPath, ...process.argv.slice(1)], {
      env: { ...env, [variable]: String(worker.number), NODE_ID: `${settings.nodeId}.${worker.number}` },
      stdio: ["ignore", "inherit", "inherit"],
      ipc: (message: FromWorker, child) => this.#received(worker, child as WorkerProcess, message),
    });
  }

  /** Forgets a process that has exited, except for its counters. */
  #retire(worker: Worker, child: WorkerProcess): void {
    worker.child = undefined;
    worker.serving = false;
    this.#collector.exited(child);
    this.#retired = mergeMetrics([this.#retired, countersOf(worker.metrics)]);
    worker.metrics = [];
  }

  #received(worker: Worker, child: WorkerProcess, message: FromWorker): void {
    switch (message.kind) {
      case "serving":
        worker.serving = true;
        worker.failedStarts = 0;
        this.#everServed = true;
        this.#options.claim.listening();
        return;
      case "ask":
        void this.#merged(message.subject).then((value) => {
          send(child, { kind: "answer", id: message.id, ...(value === undefined ? {} : { value }) });
        });
        return;
      case "snapshot":
        this.#responses.answered(child);
        if (worker.child === child) this.#collector.answered(child, message);
        return;
    }
  }

  async #merged(subject: Subject): Promise<Merged[Subject] | undefined> {
    const reports = await this.#collector.collect(subject);
    if (subject === "health") {
      const count = { ...this.#count(), serving: reports.length };
      return worstReport(reports, count, performance.now() - this.#options.startedMs);
    }
    // A worker that did not answer in time counts with its last snapshot; nothing is awaited between here and the sum.
    const ownMetrics = this.#metrics.snapshot();
    return textOf(mergeMetrics([ownMetrics, ...this.#workers.map(({ metrics }) => metrics), this.#retired]));
  }

  #count(): { readonly wanted: number; readonly serving: number } {
    return { wanted: this.#workers.length, serving: this.#workers.filter(({ serving }) => serving).length };
  }

  /** Whether all of them fail at their start, in the same way: then the next start would fail too. */
  #everyStartFails(): boolean {
    if (!this.#everServed && this.#workers.some(({ code }) => code === badConfiguration)) return true;
    const [{ code } = { code: 0 }] = this.#workers;
    return this.#workers.every((worker) => worker.failedStarts >= failedStarts && worker.code === code);
  }
}

function newWorker(number: number): Worker {
  return { number, child: undefined, serving: false, early: 0, failedStarts: 0, code: -1, metrics: [] };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const onAbort = () => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
