import type { HttpServer } from "#http/server.ts";
import type { GatewayContext } from "./gateway-context.ts";

const reportEveryMs = 30_000;

/**
 * Stops serving: no new requests, time for those in progress, an error for the rest. For `acceptMs` further requests
 * are still accepted, so that load balancers notice first; after that those in progress may continue for `streamsMs`.
 * Aborting `forceSignal` skips the waiting.
 */
export async function drainRequests(
  http: HttpServer,
  { time, log }: GatewayContext,
  acceptMs: number,
  streamsMs: number,
  forceSignal: AbortSignal,
): Promise<void> {
  const { streams } = http;
  const forced = new Promise<void>((resolve) => {
    if (forceSignal.aborted) resolve();
    forceSignal.addEventListener("abort", () => resolve(), { once: true });
  });
  const wait = (ms: number) => Promise.race([forced, new Promise<void>((resolve) => time.timers.after(ms, resolve))]);
  http.drain();
  if (acceptMs > 0) await wait(acceptMs);
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
