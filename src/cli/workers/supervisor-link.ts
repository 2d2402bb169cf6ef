import type { Gateway } from "#gateway/start.ts";
import type { WorkersView } from "#gateway/start-http.ts";
import type { HealthReport } from "#http/endpoints/health.ts";
import type { FromSupervisor, FromWorker, Subject } from "./messages.ts";

/** The supervisor waits a second for the slowest worker; after this limit it has no answer. */
const answerWithinMs = 2_000;

/** A worker's side of the channel to its supervisor. */
export interface WorkerLink extends WorkersView {
  /** From now on the supervisor may ask this worker. */
  serves(gateway: Pick<Gateway, "http" | "metricsSnapshot">): void;
  /** Calls back once the supervisor has exited, also when it already has. */
  onOrphaned(orphaned: () => void): void;
}

export function workerLink(): WorkerLink {
  const waiting = new Map<number, (value: unknown) => void>();
  let asked = 0;
  let gateway: Pick<Gateway, "http" | "metricsSnapshot"> | undefined;

  const send = (message: FromWorker): boolean => {
    if (!process.connected) return false;
    process.send?.(message);
    return true;
  };

  const snapshot = (id: number, subject: Subject): void => {
    if (gateway === undefined) return;
    if (subject === "metrics") send({ kind: "snapshot", id, subject, value: gateway.metricsSnapshot() });
    else send({ kind: "snapshot", id, subject, value: gateway.http.health() });
  };

  process.on("message", (message: FromSupervisor) => {
    if (message.kind === "collect") snapshot(message.id, message.subject);
    else waiting.get(message.id)?.(message.value);
  });

  const underWay = new Map<Subject, Promise<unknown>>();
  /** Concurrent callers share one request to the supervisor. */
  const ask = (subject: Subject): Promise<unknown> => {
    const asked = underWay.get(subject) ?? askNow(subject).finally(() => underWay.delete(subject));
    underWay.set(subject, asked);
    return asked;
  };
  const askNow = (subject: Subject): Promise<unknown> =>
    new Promise((resolve) => {
      const id = ++asked;
      const done = (value: unknown) => {
        clearTimeout(timer);
        waiting.delete(id);
        resolve(value);
      };
      const timer = setTimeout(done, answerWithinMs, undefined);
      waiting.set(id, done);
      if (!send({ kind: "ask", id, subject })) done(undefined);
    });

  return {
    // The supervisor answers with the type that was requested: both ends are compiled together.
    metricsText: () => ask("metrics") as Promise<string | undefined>,
    health: () => ask("health") as Promise<HealthReport | undefined>,
    serves(served) {
      gateway = served;
      send({ kind: "serving" });
    },
    onOrphaned(orphaned) {
      process.on("disconnect", orphaned);
      if (!process.connected) orphaned();
    },
  };
}
