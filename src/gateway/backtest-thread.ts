import type { Policy } from "#config/policy.ts";
import type { LearnedWeights } from "#domain/learned-weights.ts";
import type { ModelRegistry } from "#domain/model.ts";
import type { BacktestResult } from "#records/backtest/backtest.ts";
import type { TimeRange } from "#records/records.ts";

export interface BacktestTask {
  readonly databaseUrl: string;
  readonly policy: Policy;
  readonly registry: ModelRegistry;
  readonly learned?: LearnedWeights | undefined;
  readonly range: TimeRange;
}

export type BacktestMessage =
  | { readonly kind: "progress"; readonly done: number }
  | { readonly kind: "result"; readonly result: BacktestResult }
  /** The error's name; its message may hold the database's address. */
  | { readonly kind: "failed"; readonly error: string };

/** Replays in a thread of its own, which aborting `signal` ends. Rejects when it fails or is aborted. */
export function backtestInThread(
  task: BacktestTask,
  onProgress: (done: number) => void,
  signal: AbortSignal,
): Promise<BacktestResult> {
  const worker = new Worker(new URL("./backtest-worker.ts", import.meta.url), { name: "backtest" });
  worker.unref();
  return new Promise<BacktestResult>((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`the backtest has ended: ${why}`));
    worker.onmessage = ({ data }: MessageEvent<BacktestMessage>) => {
      if (data.kind === "progress") onProgress(data.done);
      else if (data.kind === "result") resolve(data.result);
      else fail(data.error);
    };
    worker.onerror = (event) => fail(event.message);
    worker.addEventListener("close", () => fail("its thread is gone"));
    signal.addEventListener("abort", () => fail("aborted"), { once: true });
    worker.postMessage(task);
  }).finally(() => worker.terminate());
}
