import type { HealthReport } from "#http/endpoints/health.ts";
import { type HttpServer, startServer } from "#http/server.ts";
import type { ServerOptions } from "#http/server-options.ts";
import { loggedError, logId } from "#telemetry/log/log.ts";
import type { GatewayRecords } from "./decision-records.ts";
import type { GatewayContext } from "./gateway-context.ts";

/** The combined answers of all workers; undefined while they cannot be asked. */
export interface WorkersView {
  metricsText(): Promise<string | undefined>;
  health(): Promise<HealthReport | undefined>;
}

type Given = "ports" | "version" | "keys" | "configStatus" | "lastModel" | "traces" | "dashboard" | "idleSeconds";

interface HttpParts extends Pick<ServerOptions, Given> {
  readonly records: GatewayRecords;
  readonly workers: WorkersView | undefined;
  /** Passes finished requests on to the log and the metrics now. */
  readonly flushRecords: () => void;
}

/** Starts the server, and lets the metrics observe it. */
export function startHttp(parts: HttpParts, context: GatewayContext): HttpServer {
  const { records, workers, flushRecords, ...given } = parts;
  const { settings, configuration, log, metrics } = context;
  const http = startServer({
    ...given,
    settings,
    records,
    metricsText() {
      flushRecords();
      return workers === undefined ? metrics.text() : workers.metricsText();
    },
    gatewayHealth: workers && (() => workers.health()),
    onDryRun: metrics.dryRunFinished,
    onRejected({ requestId, route, method, status, code }) {
      // A path that is no route says nothing about the gateway's own work: browsers and scanners ask for many.
      if (code !== "not_found" && code !== "method_not_allowed") {
        records.requestRejected({ requestId, route, status, code });
      }
      metrics.count("smart_gateway_rejections_total", 1, route, String(status));
      log("request_rejected", { request_id: logId(requestId), status, method: logId(method), route: logId(route) });
    },
    onCrash: (error, requestId) => log("request_crashed", { request_id: logId(requestId), ...loggedError(error) }),
  });
  const { ledger, health, callsInFlight } = given.ports;
  metrics.observe({
    version: given.version,
    models: () => configuration.current().registry.models,
    requestsInFlight: () => http.streams.count,
    ledger: () => ledger.status(),
    records: () => records.records.status(),
    health: () => health.view(),
    calls: () => callsInFlight.counts(),
    caps: () => configuration.current().caps,
    config: given.configStatus,
    activeStreams: () => http.streams.streaming,
    day: () => ledger.peekDay(),
    eventLoopDelayMs: () => http.load.eventLoopDelayMs,
    scanMemory: () => ({ ...http.pieces.counts, bytes: http.pieces.bytes }),
  });
  return http;
}
