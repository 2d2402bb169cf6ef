import type { AuthKeys } from "#config/auth-keys.ts";
import type { LiveConfig } from "#config/live-config.ts";
import { PieceCache } from "#http/chat-body/piece-cache.ts";
import type { Handler } from "#http/endpoint.ts";
import type { HealthReport } from "#http/endpoints/health.ts";
import { maxStreams as maxStreamsOf } from "#http/limits/resource-limits.ts";
import { loadSampler, readText, shedReason } from "#http/limits/shedding.ts";
import { type HttpServer, startServer } from "#http/server.ts";
import type { ServerConnection, ServerOptions } from "#http/server-options.ts";
import type { Ledger } from "#ledger/ledger.ts";
import type { Ports } from "#pipeline/ports.ts";
import { loggedError, logId } from "#telemetry/log/log.ts";
import pkg from "../../package.json" with { type: "json" };
import type { GatewayRecords } from "./decision-records.ts";
import type { GatewayContext } from "./gateway-context.ts";

/** The combined answers of all workers; undefined while they cannot be asked. */
export interface WorkersView {
  metricsText(): Promise<string | undefined>;
  health(): Promise<HealthReport | undefined>;
}

export interface HttpParts {
  readonly ports: Ports;
  readonly ledger: Ledger;
  readonly configStatus: LiveConfig["status"];
  /** Digests of the keys that callers may use; absent: any key of sufficient length. */
  readonly accepted?: AuthKeys | undefined;
  readonly records: GatewayRecords;
  readonly workers?: WorkersView | undefined;
  readonly idleSeconds?: number | undefined;
  /** Passes finished requests on to the log and the metrics now. */
  readonly flushRecords: () => void;
  readonly lastModel: ServerOptions["lastModel"];
  readonly traces: ServerOptions["traces"] | undefined;
  readonly dashboard: (connection: ServerConnection) => Handler;
}

/** Starts the server, and lets the metrics observe it. */
export function startHttp(parts: HttpParts, context: GatewayContext): HttpServer {
  const { ports, ledger, configStatus, accepted, records, workers, idleSeconds } = parts;
  const { settings, configuration, clock, log, metrics, closing } = context;
  const { health } = ports;
  const maxStreams = maxStreamsOf(readText);
  const load = loadSampler({ clock });
  closing.add(() => load.stop());
  const auth = {
    minTokenLength: settings.authMinTokenLength,
    ...(accepted === undefined ? {} : { isListed: (token: string) => accepted.has(sha256Hex(token)) }),
  };
  const pieces = new PieceCache(() => configuration.current().policy.privacy.scan_memory_bytes);
  const http = startServer({
    host: settings.host,
    port: settings.port,
    reusePort: settings.workers > 1,
    version: pkg.version,
    demo: settings.upstream.kind === "demo",
    maxRequestBytes: settings.maxRequestBytes,
    maxRequestValues: settings.maxRequestValues,
    maxBytesInFlight: settings.maxBytesInFlight,
    pieces,
    allowedHosts: settings.allowedHosts,
    auth: () => auth,
    ports,
    configStatus,
    lastModel: parts.lastModel,
    metricsText: async () => {
      parts.flushRecords();
      const text = await (workers === undefined ? metrics.text() : workers.metricsText());
      return text === undefined ? undefined : { text, contentType: metrics.contentType };
    },
    ...(workers === undefined ? {} : { gatewayHealth: () => workers.health() }),
    shedReason: (activeStreams) =>
      shedReason({
        activeStreams,
        maxStreams,
        eventLoopDelayMs: load.eventLoopDelayMs,
        memoryShare: load.memoryShare,
        ledgerOldestMs: ledger.oldestMs(),
      }),
    ...(parts.traces === undefined ? {} : { traces: parts.traces }),
    onDryRun: (decision, durationMs) => metrics.dryRunFinished(decision, durationMs),
    recordsHealth: () => {
      const { kind, ok, queued, dropped } = records.records.status();
      return kind === "off" ? undefined : { ok, queued, dropped };
    },
    onRejected: ({ requestId, route, method, status, code }) => {
      records.requestRejected({ requestId, route, status, code });
      metrics.requestRejected(route, status);
      log("request_rejected", { request_id: logId(requestId), status, method: logId(method), route: logId(route) });
    },
    dashboard: parts.dashboard,
    decisionRecord: (id) => records.explained(id),
    reportOutcome: (report) => records.reportOutcome(report),
    explain: (record) => records.explainNow(record),
    ...(idleSeconds === undefined ? {} : { idleSeconds }),
    onCrash: (error, requestId) => log("request_crashed", { request_id: logId(requestId), ...loggedError(error) }),
  });
  metrics.observe({
    version: pkg.version,
    models: () => configuration.current().registry.models,
    requestsInFlight: () => http.streams.count,
    ledger: () => ledger.status(),
    records: () => records.records.status(),
    health: () => health.view(),
    caps: () => configuration.current().caps,
    config: configStatus,
    activeStreams: () => http.streams.streaming,
    day: () => ledger.peekDay(),
    eventLoopDelayMs: () => load.eventLoopDelayMs,
    scanMemory: () => ({ ...pieces.counts, bytes: pieces.bytes }),
  });
  return http;
}

function sha256Hex(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}
