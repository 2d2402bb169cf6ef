import { backtest } from "#records/backtest/backtest.ts";
import { openRecordStore } from "#records/store/record-store.ts";
import type { BacktestMessage, BacktestTask } from "./backtest-thread.ts";

/** The thread of one backtest: it reads and replays while the gateway's own thread goes on serving. */
declare const self: Worker;

const say = (message: BacktestMessage) => self.postMessage(message);

async function run({ databaseUrl, policy, registry, learned, range }: BacktestTask): Promise<void> {
  const store = await openRecordStore(databaseUrl, async () => {
    throw new Error("a backtest writes nothing");
  });
  try {
    const result = await backtest({
      records: store.export(range),
      policy,
      registry,
      learned,
      configuration: (hash) => store.config(hash),
      onProgress: (done) => say({ kind: "progress", done }),
    });
    say({ kind: "result", result });
  } finally {
    await store.close();
  }
}

self.onmessage = ({ data }: MessageEvent<BacktestTask>) => {
  run(data).catch((error: unknown) => say({ kind: "failed", error: error instanceof Error ? error.name : "error" }));
};
