import type { HealthReport } from "#http/endpoints/health.ts";
import type { FromSupervisor, FromWorker, Snapshots, Subject } from "./messages.ts";

/** How long the slowest worker is waited for when all are asked, in milliseconds. */
const collectWithinMs = 1_000;

export type WorkerProcess = Bun.Subprocess<"ignore", "inherit", "inherit">;

interface Round {
  readonly missing: Set<WorkerProcess>;
  readonly reports: HealthReport[];
  readonly done: () => void;
}

type Snapshot = FromWorker & { readonly kind: "snapshot" };

/** Asks all serving workers for a snapshot, and waits a second at most; requests made meanwhile share the answers. */
export class SnapshotCollector {
  readonly #serving: () => readonly WorkerProcess[];
  readonly #onMetrics: (from: WorkerProcess, metrics: Snapshots["metrics"]) => void;
  readonly #rounds = new Map<number, Round>();
  readonly #running: { [S in Subject]?: Promise<readonly HealthReport[]> } = {};
  #ids = 0;

  constructor(
    serving: () => readonly WorkerProcess[],
    onMetrics: (from: WorkerProcess, metrics: Snapshots["metrics"]) => void,
  ) {
    this.#serving = serving;
    this.#onMetrics = onMetrics;
  }

  /** The health reports of the workers that answered in time; metrics go to `onMetrics` and leave the list empty. */
  collect(subject: Subject): Promise<readonly HealthReport[]> {
    this.#running[subject] ??= this.#ask(subject);
    return this.#running[subject];
  }

  answered(from: WorkerProcess, snapshot: Snapshot): void {
    // Late metrics are still newer than the last ones.
    if (snapshot.subject === "metrics") this.#onMetrics(from, snapshot.value);
    const round = this.#rounds.get(snapshot.id);
    if (round === undefined) return;
    if (snapshot.subject === "health") round.reports.push(snapshot.value);
    round.missing.delete(from);
    if (round.missing.size === 0) round.done();
  }

  /** The process has ended: its answers are no longer waited for. */
  exited(worker: WorkerProcess): void {
    for (const { missing, done } of this.#rounds.values()) if (missing.delete(worker) && missing.size === 0) done();
  }

  #ask(subject: Subject): Promise<readonly HealthReport[]> {
    const id = ++this.#ids;
    const asked = this.#serving();
    const reports: HealthReport[] = [];
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#rounds.delete(id);
        delete this.#running[subject];
        resolve(reports);
      };
      const timer = setTimeout(done, collectWithinMs);
      this.#rounds.set(id, { missing: new Set(asked), reports, done });
      for (const worker of asked) send(worker, { kind: "collect", id, subject });
      if (asked.length === 0) done();
    });
  }
}

export function send(worker: WorkerProcess, message: FromSupervisor): void {
  try {
    worker.send(message);
  } catch {
    // It has ended meanwhile and needs no message.
  }
}
