import type { Gateway } from "#gateway/start.ts";
import type { WorkersView } from "#gateway/start-http.ts";
import type { HealthReport } from "#http/endpoints/health.ts";
import type { MetricSnapshot } from "#telemetry/metrics/snapshot.ts";

/** What workers answer their supervisor, for itself. */
export interface Snapshots {
  readonly metrics: readonly MetricSnapshot[];
  readonly health: HealthReport;
}
/** What the supervisor answers its workers, for all of them: metrics as Prometheus text. */
export interface Merged {
  readonly metrics: string;
  readonly health: HealthReport;
}
export type Subject = keyof Snapshots;

/** What a worker and its supervisor send each other. Both run the same code, so nobody checks what arrives. */
export type Message =
  | { readonly kind: "serving" }
  | { readonly kind: "request"; readonly id: number; readonly subject: Subject }
  /** `value` is absent where there is no answer. */
  | { readonly kind: "reply"; readonly id: number; readonly value?: unknown };

/** Requests and replies between two processes. `Replies`: what the other side answers. */
export class Channel<Replies extends { readonly [S in Subject]: unknown }> {
  readonly #send: (message: Message) => void;
  readonly #answer: (subject: Subject) => unknown;
  readonly #waiting = new Map<number, (value: unknown) => void>();
  #ids = 0;

  /** `answer` may be a promise; undefined where there is no answer. */
  constructor(send: (message: Message) => void, answer: (subject: Subject) => unknown) {
    this.#send = send;
    this.#answer = answer;
  }

  /** The other side's answer; undefined when none comes in time, or the channel is closed. */
  request<S extends Subject>(subject: S, withinMs: number): Promise<Replies[S] | undefined> {
    const id = ++this.#ids;
    return new Promise((resolve) => {
      const done = (value: unknown) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(value as Replies[S] | undefined); // both ends are compiled together
      };
      const timer = setTimeout(done, withinMs);
      this.#waiting.set(id, done);
      this.#trySend({ kind: "request", id, subject });
    });
  }

  async received(message: Message): Promise<void> {
    if (message.kind === "reply") this.#waiting.get(message.id)?.(message.value);
    else if (message.kind === "request")
      this.#trySend({ kind: "reply", id: message.id, value: await this.#answer(message.subject) });
  }

  #trySend(message: Message): void {
    try {
      this.#send(message);
    } catch {
      // The other process has ended meanwhile and needs no message.
    }
  }

  /** Ends all that waits for an answer. */
  close(): void {
    for (const done of this.#waiting.values()) done(undefined);
  }
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
  const channel = new Channel<Merged>(send, (subject) =>
    subject === "metrics" ? gateway?.metricsSnapshot() : gateway?.http.health(),
  );
  process.on("message", (message: Message) => void channel.received(message));
  process.on("disconnect", () => channel.close());
  return {
    metricsText: () => channel.request("metrics", answerWithinMs),
    health: () => channel.request("health", answerWithinMs),
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
