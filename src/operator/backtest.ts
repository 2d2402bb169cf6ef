import { nextLargeTask } from "#platform/event-loop.ts";
import { type BacktestOptions, type BacktestResult, backtest } from "#records/backtest/backtest.ts";
import type { RecordFilter } from "#records/records.ts";
import type { RecordStore } from "#records/store/record-store.ts";

type BacktestRequest = Omit<BacktestOptions, "records" | "configuration"> & { readonly filter: RecordFilter };

/** Recorded requests, decided again under another policy. Other requests of the process are served in between. */
export function runBacktest(
  store: Pick<RecordStore, "export" | "config">,
  { filter, ...request }: BacktestRequest,
): Promise<BacktestResult> {
  return backtest({
    ...request,
    records: inSteps(store.export(filter)),
    configuration: (hash) => store.config(hash),
  });
}

/** Records that are replayed at once, in some milliseconds. */
const recordsPerTick = 32;

async function* inSteps<T>(batches: AsyncIterable<readonly T[]>): AsyncIterable<readonly T[]> {
  for await (const batch of batches) {
    for (let at = 0; at < batch.length; at += recordsPerTick) {
      yield batch.slice(at, at + recordsPerTick);
      await nextLargeTask();
    }
  }
}
