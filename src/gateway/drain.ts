import type { HttpServer } from "#http/server.ts";
import type { Timers } from "#platform/time.ts";
import type { Log } from "#telemetry/log/log.ts";

export interface DrainOptions {
  readonly http: HttpServer;
  readonly timers: Timers;
  readonly log: Log;
  /** How long further requests are still accepted, so that load balancers notice first. */
  readonly acceptMs: number;
  /** How long requests in progress may continue after that. */
  readonly streamsMs: number;
  /** Aborting it skips the waiting; the ledger is still flushed. */
  readonly forceSignal: AbortSignal;
}

const reportEveryMs = 30_000;

/** Stops serving: no new requests, time for those in progress, an error for the rest. */
export async function drainRequests(options: DrainOptions): Promise<void> {
  const { http, timers, log, acceptMs, streamsMs, forceSignal } = options;
  const { streams } = http;
  const wait = (ms: number) => waitFor(ms, timers, forceSignal);
  http.drain();
  if (streams.count > 0 || acceptMs > 0) await wait(acceptMs);
  http.stopListening();
  for (let leftMs = streamsMs; leftMs > 0 && streams.count > 0 && !forceSignal.aborted; leftMs -= reportEveryMs) {
    if (leftMs < streamsMs)
      log("gateway_waiting", { in_flight: streams.count, streams: streams.streaming, left_ms: leftMs });
    await Promise.race([streams.whenEmpty(), wait(Math.min(leftMs, reportEveryMs))]);
  }
  streams.endAll({
    kind: "upstream_error",
    status: 503,
    message: "the gateway is shutting down",
    dispatched: true,
    byGateway: true,
  });
  // Aborted requests are settled in the following ticks of the event loop.
  await Promise.race([streams.whenEmpty(), wait(1_000)]);
  await http.stop();
}

function waitFor(ms: number, timers: Timers, forceSignal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (ms <= 0 || forceSignal.aborted) return resolve();
    const done = () => {
      cancel();
      forceSignal.removeEventListener("abort", done);
      resolve();
    };
    const cancel = timers.after(ms, done);
    forceSignal.addEventListener("abort", done, { once: true });
  });
}
