import { EventEmitter, once } from "node:events";
import type { Gateway } from "#gateway/start.ts";
import type { HealthReport, WorkersView } from "#http/server-options.ts";
import type { MetricSnapshot } from "#telemetry/metrics/declarations.ts";
import { expositionText } from "#telemetry/metrics/snapshot.ts";

/** What a worker says of itself, and the supervisor of all of them. */
export interface Report {
  readonly metrics: readonly MetricSnapshot[];
  readonly health: HealthReport | undefined;
}

/** What a worker and its supervisor send each other. Both run the same code, so nobody checks what arrives. */
export type Message =
  | { readonly kind: "serving" | "question" }
  /** `report` is absent where there is none yet. */
  | { readonly kind: "answer"; readonly report?: Report | undefined };

/** Two processes that ask each other for their reports. An answer is for all who wait for one. */
export function openChannel(send: (message: Message) => void, report: () => Report | undefined | Promise<Report>) {
  const answers = new EventEmitter();
  const trySend = (message: Message): void => {
    try {
      send(message);
    } catch {
      // The other process has ended meanwhile and needs no message.
    }
  };
  return {
    /** The other side's report; undefined when none comes in time. */
    async ask(withinMs: number): Promise<Report | undefined> {
      trySend({ kind: "question" });
      const signal = AbortSignal.timeout(withinMs);
      const [answer] = await once(answers, "answer", { signal }).catch(() => []);
      return answer;
    },
    async received(message: Message): Promise<void> {
      if (message.kind === "answer") answers.emit("answer", message.report);
      if (message.kind === "question") trySend({ kind: "answer", report: await report() });
    },
  };
}

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
  let gateway: Pick<Gateway, "http" | "metricsSnapshot"> | undefined;
  const send = (message: Message) => {
    if (process.connected) process.send?.(message);
  };
  const channel = openChannel(
    send,
    () => gateway && { metrics: gateway.metricsSnapshot(), health: gateway.http.health() },
  );
  process.on("message", (message: Message) => void channel.received(message));
  return {
    async metricsText() {
      const all = await channel.ask(answerWithinMs);
      return all && expositionText(all.metrics);
    },
    health: async () => (await channel.ask(answerWithinMs))?.health,
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
