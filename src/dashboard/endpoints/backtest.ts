import type { ApiCall, ApiHandler } from "#dashboard/api/handlers.ts";
import { dayMs } from "#dashboard/api/range.ts";
import type { BacktestEvent } from "#dashboard/api-schema.ts";
import type { EventStream } from "#dashboard/live/event-stream.ts";
import { BacktestResult } from "#dashboard/schema/policy.ts";
import type { DashboardSources } from "#dashboard/sources.ts";

/** Records that are replayed when nobody says since when. */
const usualDays = 30;
const progressEveryMs = 200;

/** `POST policy/backtest`: recorded requests, decided again under an edited policy. One at a time in each process. */
export function backtestHandler(sources: DashboardSources): ApiHandler<"POST policy/backtest"> {
  let isRunning = false;
  return (call, stream) => {
    const aborted = new AbortController();
    if (isRunning) {
      stream.send({ kind: "problem", detail: "Another backtest is running. Wait for its end.", problems: [] });
      stream.end();
      return () => {};
    }
    isRunning = true;
    replay(sources, call, stream, aborted.signal)
      .catch(() => {
        const detail = "The records could not be replayed: the store does not answer, or the backtest was ended.";
        stream.send({ kind: "problem", detail, problems: [] });
      })
      .finally(() => {
        isRunning = false;
        stream.end();
      });
    return () => aborted.abort();
  };
}

async function replay(
  { backtest, clock, policyFile, records }: DashboardSources,
  { body }: ApiCall<"POST policy/backtest">,
  stream: EventStream<BacktestEvent>,
  signal: AbortSignal,
): Promise<void> {
  const checked = await policyFile.check(body.policy);
  if (checked.kind === "invalid") {
    const detail = "The edited policy is not valid.";
    stream.send({ kind: "problem", detail, problems: [...checked.problems] });
    return;
  }
  const toMs = body.until_ms ?? Math.ceil(clock.now()) + 1;
  const range = { fromMs: body.since_ms ?? toMs - usualDays * dayMs, toMs };
  // Floods of refusals are one record for many requests, so there may be fewer.
  const total = (await records.summary(range)).requests;
  stream.send({ kind: "progress", done: 0, total });
  const begunMs = clock.monotonic();
  let saidMs = begunMs;
  const onProgress = (done: number) => {
    if (clock.monotonic() - saidMs < progressEveryMs) return;
    saidMs = clock.monotonic();
    stream.send({ kind: "progress", done: Math.min(done, total), total });
  };
  const result = await backtest(checked.policy, range, onProgress, signal);
  stream.send({ kind: "progress", done: total, total });
  stream.send({
    kind: "result",
    result: BacktestResult.parse(result),
    took_ms: Math.round(clock.monotonic() - begunMs),
  });
}
