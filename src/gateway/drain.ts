import type { HttpServer } from "#http/server.ts";
import type { Timers } from "#platform/time.ts";

export interface DrainOptions {
  readonly http: HttpServer;
  readonly timers: Timers;
  /** How long further requests are still accepted, so that load balancers notice first. */
  readonly acceptMs: number;
  /** How long requests in progress may continue after that. */
  readonly streamsMs: number;
  /** Aborting it skips the waiting; the ledger is still flushed. */
  readonly forceSignal: AbortSignal;
}

/** Stops serving: no new requests, time for those in progress, an error for the rest. */
export async function drainRequests({ http, timers, acceptMs, streamsMs, forceSignal }: DrainOptions): Promise<void> {
  http.drain();
  if (http.streams.count > 0 || acceptMs > 0) await wait(acceptMs, timers, forceSignal);
  http.stopListening();
  await Promise.race([http.streams.whenEmpty(), wait(streamsMs, timers, forceSignal)]);
  http.streams.endAll({
    kind: "upstream_error",
    status: 503,
    message: "the gateway is shutting down",
    dispatched: true,
    byGateway: true,
  });
  // Aborted requests are settled in the following turns of the event loop.
  await Promise.race([http.streams.whenEmpty(), wait(1_000, timers, forceSignal)]);
  await http.stop();
}

function wait(ms: number, timers: Timers, forceSignal: AbortSignal): Promise<void> {
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
