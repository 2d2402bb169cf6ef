import type { Timers } from "./time.ts";

export interface BackgroundJobOptions {
  readonly run: () => Promise<unknown>;
  /** Milliseconds until the next run; asked when a run has ended. */
  readonly pauseMs: () => number;
  readonly timers: Timers;
  /** What a run rejects with; ignored when absent. */
  readonly onFailure?: (error: unknown) => void;
}

/** Work that repeats by itself: one run at a time, and a pause before the next. No start and no request waits for it. */
export class BackgroundJob {
  readonly #options: BackgroundJobOptions;
  #running: Promise<void> | undefined;
  #cancel: () => void = () => undefined;
  #closed = false;

  constructor(options: BackgroundJobOptions) {
    this.#options = options;
  }

  /** Runs now. */
  start(): void {
    const { run, onFailure } = this.#options;
    this.#running = run().then(
      () => this.#ended(),
      (error: unknown) => {
        onFailure?.(error);
        this.#ended();
      },
    );
  }

  /** Runs after the pause, which is asked for anew; while a run is under way, that run's end does this. */
  schedule(): void {
    if (this.#running !== undefined || this.#closed) return;
    this.#cancel();
    this.#cancel = this.#options.timers.after(Math.max(0, this.#options.pauseMs()), () => this.start());
  }

  /** No further run; resolves when the one under way has ended. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel();
    await this.#running;
  }

  #ended(): void {
    this.#running = undefined;
    this.schedule();
  }
}
