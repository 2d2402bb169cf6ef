import type { AuthKeys } from "#config/auth-keys.ts";
import { PieceCache } from "#http/chat-body/piece-cache.ts";
import type { HealthReport } from "#http/endpoints/health.ts";
import { maxStreams as maxStreamsOf } from "#http/limits/resource-limits.ts";
import { loadSampler, readText, shedReason } from "#http/limits/shedding.ts";
import { type HttpServer, startServer } from "#http/server.ts";
import type { ServerOptions } from "#http/server-options.ts";
import type { Ledger } from "#ledger/ledger.ts";
import { loggedError, logId } from "#telemetry/log/log.ts";
import pkg from "../../package.json" with { type: "json" };
import type { GatewayRecords } from "./decision-records.ts";
import type { GatewayContext } from "./gateway-context.ts";

/** The combined answers of all workers; undefined while they cannot be asked. */
export interface WorkersView {
  metricsText(): Promise<string | undefined>;
  health(): Promise<HealthReport | undefined>;
}

type Given = "ports" | "configStatus" | "lastModel" | "traces" | "dashboard" | "idleSeconds";

export interface HttpParts extends Pick<ServerOptions, Given> {
  readonly ledger: Ledger;
  /** Digests of the keys that callers may use; absent: any key of sufficient length. */
  readonly accepted: AuthKeys | undefined;
  readonly records: GatewayRecords;
  readonly workers: WorkersView | undefined;
  /** Passes finished requests on to the log and the metrics now. */
  readonly flushRecords: () => void;
}

/** Starts the server, and lets the metrics observe it. */
export function startHttp(parts: HttpParts, context: GatewayContext): HttpServer {
  const { ledger, accepted, records, workers, flushRecords, ...given } = parts;
  const { settings, configuration, time, log, metrics, closing } = context;
  const { host, port, maxRequestBytes, maxRequestValues, maxBytesInFlight, allowedHosts } = settings;
  const { version } = pkg;
  const maxStreams = maxStreamsOf(readText);
  const load = loadSampler(time);
  closing.add(() => load.stop());
  const auth = {
    minTokenLength: settings.authMinTokenLength,
    ...(accepted === undefined ? {} : { isListed: (token: string) => accepted.has(sha256Hex(token)) }),
  };
  const pieces = new PieceCache(() => configuration.current().policy.privacy.scan_memory_bytes);
  const http = startServer({
    ...given,
    ...{ host, port, maxRequestBytes, maxRequestValues, maxBytesInFlight, allowedHosts, version },
    reusePort: settings.workers > 1,
    demo: settings.upstream.kind === "demo",
    pieces,
    auth: () => auth,
    async metricsText() {
      flushRecords();
      const text = await (workers === undefined ? metrics.text() : workers.metricsText());
      return text === undefined ? undefined : { text, contentType: metrics.contentType };
    },
    ...(workers === undefined ? {} : { gatewayHealth: () => workers.health() }),
    shedReason(activeStreams) {
      const { eventLoopDelayMs, memoryShare } = load;
      return shedReason({
        activeStreams,
        maxStreams,
        eventLoopDelayMs,
        memoryShare,
        ledgerOldestMs: ledger.oldestMs(),
      });
    },
    onDryRun: metrics.dryRunFinished,
    recordsHealth() {
      const { kind, ok, queued, dropped } = records.records.status();
      return kind === "off" ? undefined : { ok, queued, dropped };
    },
    onRejected({ requestId, route, method, status, code }) {
      records.requestRejected({ requestId, route, status, code });
      metrics.requestRejected(route, status);
      log("request_rejected", { request_id: logId(requestId), status, method: logId(method), route: logId(route) });
    },
    decisionRecord: records.explained,
    reportOutcome: records.reportOutcome,
    explain: records.explainNow,
    onCrash: (error, requestId) => log("request_crashed", { request_id: logId(requestId), ...loggedError(error) }),
  });
  metrics.observe({
    version,
    models: () => configuration.current().registry.models,
    requestsInFlight: () => http.streams.count,
    ledger: () => ledger.status(),
    records: () => records.records.status(),
    health: () => parts.ports.health.view(),
    calls: () => parts.ports.callsInFlight.counts(),
    caps: () => configuration.current().caps,
    config: parts.configStatus,
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
