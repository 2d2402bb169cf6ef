import { type HealthReport, worstReport } from "#http/endpoints/health.ts";
import type { Settings } from "#settings/settings.ts";
import { type Log, logId } from "#telemetry/log/log.ts";
import { countersOf, type MetricSnapshot, mergeMetrics, renderMetrics } from "#telemetry/metrics/merged-metrics.ts";
import { createMetrics } from "#telemetry/metrics/metrics.ts";
import { version } from "../../../package.json";
import type { FromSupervisor, FromWorker, Merged, Snapshots, Subject } from "./messages.ts";
import { claimPort } from "./port-claim.ts";

const variable = "SMART_GATEWAY_WORKER";

/** Which of the workers this process is, 1 and up; undefined for the process that starts them (or is the only one). */
export function workerNumber(env: NodeJS.ProcessEnv): number | undefined {
  const text = env[variable];
  return text === undefined ? undefined : Number(text);
}

/** The pause before a worker is started anew: the first after a steady life, doubled with each early end, at most the last. */
const restartBaseMs = 500;
const restartMaxMs = 30_000;
/** A worker that lived this long begins anew with the shortest pause. */
const steadyMs = 60_000;
/** Starts in a row that fail, of every worker and with the same exit code, before the gateway gives up. */
const failedStarts = 3;
/** The exit code of bad settings or files: no restart mends them. */
const badConfiguration = 2;
/** How long the slowest worker is waited for when all are asked. */
const collectWithinMs = 1_000;
/** How often the counters are fetched so that little of them is lost with a worker that crashes. */
const collectEveryMs = 10_000;

type Child = Bun.Subprocess<"ignore", "inherit", "inherit">;

interface Worker {
  readonly number: number;
  child: Child | undefined;
  serving: boolean;
  /** Ends soon after the start, in a row. */
  early: number;
  /** Starts in a row that never served, and the exit code of the last. */
  failedStarts: number;
  code: number;
  metrics: readonly MetricSnapshot[];
}

/**
 * Runs `WORKERS` processes of this same command on one port, hands them our signals, and starts anew each that ends, after a
 * pause that grows. Ends when all have ended: 0 if they were told to, else the exit code of those that could not start.
 * Throws when the port cannot be had.
 */
export async function superviseWorkers(settings: Settings, env: NodeJS.ProcessEnv, log: Log): Promise<number> {
  const begunMs = performance.now();
  const claim = await claimPort(settings.host, settings.port);
  const workers = Array.from({ length: settings.workers }, (_, index): Worker => newWorker(index + 1));
  const own = createMetrics();
  const ended = new AbortController();
  let everServed = false;
  let failure = 0;
  let retired: readonly MetricSnapshot[] = [];

  const serving = () => workers.filter((worker) => worker.serving);
  const count = () => ({ wanted: workers.length, serving: serving().length });
  own.observe({ version, workers: count });

  const collection = collector(serving, (worker, metrics) => {
    worker.metrics = metrics;
  });

  async function merged(subject: Subject): Promise<Merged[Subject] | undefined> {
    if (subject === "health") {
      const reports = await collection.of("health");
      return worstReport(reports, { ...count(), serving: reports.length }, performance.now() - begunMs);
    }
    await collection.of("metrics");
    // One that did not answer in time counts with what it said last; nothing is awaited between here and the sum.
    const ownMetrics = await own.snapshot();
    return renderMetrics(mergeMetrics([ownMetrics, ...workers.map(({ metrics }) => metrics), retired]));
  }

  function received(worker: Worker, child: Child, message: FromWorker): void {
    switch (message.kind) {
      case "serving":
        worker.serving = true;
        worker.failedStarts = 0;
        everServed = true;
        claim.listening();
        return;
      case "ask":
        void merged(message.subject).then((value) => {
          send(child, { kind: "answer", id: message.id, ...(value === undefined ? {} : { value }) });
        });
        return;
      case "snapshot":
        if (worker.child === child) collection.answered(worker, message);
        return;
    }
  }

  function start(worker: Worker): Child {
    return Bun.spawn([process.execPath, ...process.argv.slice(1)], {
      env: { ...env, [variable]: String(worker.number), NODE_ID: `${settings.nodeId}.${worker.number}` },
      stdio: ["ignore", "inherit", "inherit"],
      ipc: (message: FromWorker, child) => received(worker, child as Child, message),
    });
  }

  /** Whether all of them fail at their start, in the same way: then the next start would too. */
  function hopeless(): boolean {
    if (!everServed && workers.some(({ code }) => code === badConfiguration)) return true;
    const [{ code } = { code: 0 }] = workers;
    return workers.every((worker) => worker.failedStarts >= failedStarts && worker.code === code);
  }

  async function run(worker: Worker): Promise<void> {
    while (!ended.signal.aborted) {
      const startedMs = performance.now();
      const child = start(worker);
      worker.child = child;
      worker.code = await child.exited;
      const livedMs = performance.now() - startedMs;
      const started = worker.serving;
      worker.child = undefined;
      worker.serving = false;
      collection.gone(worker);
      retired = mergeMetrics([retired, countersOf(worker.metrics)]);
      worker.metrics = [];
      if (ended.signal.aborted) return;

      worker.early = livedMs < steadyMs ? worker.early + 1 : 1;
      if (!started) worker.failedStarts += 1;
      own.workerExited(started);
      const givenUp = hopeless();
      const pauseMs = Math.min(restartMaxMs, restartBaseMs * 2 ** Math.min(worker.early - 1, 10));
      log("worker_exited", {
        worker: worker.number,
        pid: child.pid,
        code: worker.code,
        ...(child.signalCode === null ? {} : { signal: logId(String(child.signalCode)) }),
        started,
        lived_ms: Math.round(livedMs),
        ...(givenUp ? {} : { restart_in_ms: pauseMs }),
      });
      if (givenUp) {
        failure = worker.code === 0 ? 1 : worker.code;
        stop("SIGTERM");
        return;
      }
      await pause(pauseMs, ended.signal);
    }
  }

  function stop(signal: NodeJS.Signals): void {
    ended.abort();
    for (const { child } of workers) child?.kill(signal);
  }

  process.on("SIGTERM", () => stop("SIGTERM"));
  process.on("SIGINT", () => {
    // At a terminal Ctrl-C reaches the workers by itself, and a second signal would hurry them.
    if (process.stdin.isTTY === true) ended.abort();
    else stop("SIGINT");
  });
  process.on("SIGHUP", () => {
    for (const { child } of workers) child?.kill("SIGHUP");
  });
  const polling = setInterval(() => void collection.of("metrics"), collectEveryMs);
  await Promise.all(workers.map(run));
  clearInterval(polling);
  claim.release();
  return failure;
}

function newWorker(number: number): Worker {
  return { number, child: undefined, serving: false, early: 0, failedStarts: 0, code: -1, metrics: [] };
}

function send(child: Child, message: FromSupervisor): void {
  try {
    child.send(message);
  } catch {
    // It has ended meanwhile: nobody waits for the message any more.
  }
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

type Snapshot = FromWorker & { readonly kind: "snapshot" };

/** Asks all workers that serve, at most a second; callers that come meanwhile share the answers. */
function collector(
  serving: () => readonly Worker[],
  metricsOf: (worker: Worker, metrics: Snapshots["metrics"]) => void,
) {
  let ids = 0;
  const rounds = new Map<number, { missing: Set<Worker>; reports: HealthReport[]; done: () => void }>();
  const running: { [S in Subject]?: Promise<readonly HealthReport[]> } = {};

  function round(subject: Subject): Promise<readonly HealthReport[]> {
    const id = ++ids;
    const asked = serving();
    const reports: HealthReport[] = [];
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        rounds.delete(id);
        delete running[subject];
        resolve(reports);
      };
      const timer = setTimeout(done, collectWithinMs);
      rounds.set(id, { missing: new Set(asked), reports, done });
      for (const { child } of asked) if (child !== undefined) send(child, { kind: "collect", id, subject });
      if (asked.length === 0) done();
    });
  }

  return {
    of(subject: Subject): Promise<readonly HealthReport[]> {
      running[subject] ??= round(subject);
      return running[subject];
    },
    answered(worker: Worker, snapshot: Snapshot): void {
      // Late metrics are still the newest there are.
      if (snapshot.subject === "metrics") metricsOf(worker, snapshot.value);
      const round = rounds.get(snapshot.id);
      if (round === undefined) return;
      if (snapshot.subject === "health") round.reports.push(snapshot.value);
      round.missing.delete(worker);
      if (round.missing.size === 0) round.done();
    },
    /** It ended: nobody waits for its answers. */
    gone(worker: Worker): void {
      for (const { missing, done } of rounds.values()) if (missing.delete(worker) && missing.size === 0) done();
    },
  };
}
