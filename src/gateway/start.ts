import { commit, version } from "#build.ts";
import { type LiveConfig, liveConfig } from "#config/live-config.ts";
import type { Problem } from "#config/problem.ts";
import type { Settings } from "#config/settings.ts";
import type { ModelKey } from "#domain/model.ts";
import { startServer } from "#http/server.ts";
import type { WorkersView } from "#http/server-options.ts";
import { RecentNotices } from "#operator/sources.ts";
import { CallsInFlight } from "#pipeline/execute/calls-in-flight.ts";
import { FirstEventTimes } from "#pipeline/execute/first-event-times.ts";
import { RetryBudget } from "#pipeline/execute/retry-budget.ts";
import type { Ports } from "#pipeline/ports.ts";
import { LruMap, limitedMemory } from "#platform/lru-map.ts";
import { systemClock } from "#platform/system-clock.ts";
import type { Clock, Random, Timers } from "#platform/time.ts";
import { timerWheel } from "#platform/timers.ts";
import { storedTaskMemory } from "#records/task-memory.ts";
import { type Log, loggedError, logId, silentLog } from "#telemetry/log/log.ts";
import { createMetrics } from "#telemetry/metrics/metrics.ts";
import { type GatewayRecords, openRecords } from "./decision-records.ts";
import { drainRequests } from "./drain.ts";
import { countReservation, finishedRequests, reportRejection } from "./events.ts";
import { Closing, type GatewayContext, type GatewayLedger } from "./gateway-context.ts";
import { LiveConfiguration } from "./live-configuration.ts";
import { openDashboard } from "./open-dashboard.ts";
import {
  openAcceptedKeys,
  openGatewayLedger,
  openHealth,
  openKeyUsage,
  openPrices,
  openSimulator,
  openUpstream,
  upstreamAddress,
} from "./open-parts.ts";
import { openTracing, tracedRequests, tracedUpstream } from "./tracing.ts";

/** Parts that a test or an embedding program replaces. */
export interface Overrides {
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly random?: Random;
  readonly log?: Log;
  readonly ledger?: GatewayLedger;
  /** Present in a worker: the combined metrics and health of all workers. */
  readonly workers?: WorkersView;
  /** Idle limit of callers' connections, in seconds. */
  readonly idleSeconds?: number;
}

/** A gateway that listens. */
export type Gateway = Awaited<ReturnType<typeof assemble>>;

export type Started =
  | { readonly kind: "ok"; readonly gateway: Gateway }
  | { readonly kind: "invalid"; readonly problems: readonly Problem[] };

/** Opens all parts and listens. Problems in files are returned; it throws when a store or the port cannot be opened. */
export async function startGateway(settings: Settings, overrides: Overrides = {}): Promise<Started> {
  const { clock = systemClock, random = Math.random, log = silentLog, ledger } = overrides;
  const timers = overrides.timers ?? timerWheel({ clock });
  const { upstream, policyPath, registryPath, authKeysFile } = settings;
  const live = liveConfig({
    ...{ policyPath, registryPath, authKeysFile, log, clock },
    upstreamKey:
      upstream.kind !== "aggregator" || upstream.apiKeyFile === undefined || upstream.apiKey === undefined
        ? undefined
        : { path: upstream.apiKeyFile, value: upstream.apiKey },
    onChange: (config) => context.configuration.apply(config),
    onUpstreamKey: (key) => context.configuration.applyUpstreamKey(key),
    onReload: (kind) => context.metrics.count("smart_gateway_config_reloads_total", 1, kind),
  });
  if (live.kind === "invalid") return live;
  const closing = new Closing(timers);
  closing.add(() => live.close());
  const context: GatewayContext = {
    ...{ version, settings, log, closing },
    configuration: new LiveConfiguration(settings, log, live.current()),
    time: { clock, timers, random },
    notices: new RecentNotices(),
    metrics: createMetrics(),
    ...(ledger === undefined ? {} : { ledger }),
    sharesDatabase: settings.workers > 1 || !settings.databaseUrl.startsWith("sqlite:"),
  };
  try {
    return { kind: "ok", gateway: await assemble(live, overrides, context) };
  } catch (error) {
    await closing.closeAll();
    throw error;
  }
}

async function assemble(live: LiveConfig, { workers, idleSeconds }: Overrides, context: GatewayContext) {
  const { settings, configuration, time, log, metrics, closing, sharesDatabase: shared } = context;
  const { clock } = time;
  const configStatus = () => live.status();
  let kept: GatewayRecords | undefined;
  const ledger = await openGatewayLedger(context, (event) => kept?.ledgerChanged(event));
  const records = openRecords(ledger, context);
  kept = records;
  const keys = await openAcceptedKeys(live, context);
  const health = await openHealth(context);
  const simulator = await openSimulator(context);
  const address = upstreamAddress(context, simulator);
  const prices = openPrices(address, context);
  const pricesRead = prices.start();
  configuration.onChange = () => prices.configured();
  const tracing = await openTracing(context);
  const keyUsage = openKeyUsage(address, ledger, context);
  const finished = finishedRequests(prices, records, context);
  const lastModels = new LruMap<string, { readonly model: ModelKey; readonly atMs: number }>(maxGoals);
  const ports: Ports = {
    ...time,
    ledger,
    onReserved(reservation, reply) {
      countReservation(reservation, reply, context);
      if (reply.kind !== "held") return;
      lastModels.set(reservation.goal, { model: reservation.modelKey, atMs: clock.now() });
    },
    health: health.registry,
    upstream: tracedUpstream(openUpstream(address, ledger, context), tracing, address().baseUrl, context),
    tasks: storedTaskMemory({ records: records.records, shared }),
    conversations: limitedMemory(conversationLimits),
    retryBudget: new RetryBudget(clock, () => configuration.policy().upstream.retry_budget_per_second),
    firstEventTimes: new FirstEventTimes(clock),
    callsInFlight: new CallsInFlight(time.timers),
    newId: () => Bun.randomUUIDv7(),
    config: () => configuration.current(),
    record(record) {
      finished.add(record);
      // Recorded in the tick after the answer, unless the process is busy: then in a batch.
      if (http.streams.count <= 1) setImmediate(() => finished.flush());
    },
  };
  await pricesRead;
  const http = startServer({
    ...{ settings, ports, version, commit, configStatus, records, idleSeconds },
    keys,
    lastModel: (goal) => lastModels.get(goal),
    dashboard: openDashboard({ ledger, records, health, configStatus, keys, prices, keyUsage }, context),
    traces: tracing && tracedRequests(tracing),
    metricsText() {
      finished.flush();
      return metrics.text();
    },
    workers,
    onDryRun: metrics.dryRunFinished,
    onRejected: (rejected) => reportRejection(rejected, records, context),
    onCrash: (error, requestId) => log("request_crashed", { request_id: logId(requestId), ...loggedError(error) }),
  });
  metrics.observe({
    ...{ version, config: configStatus },
    models: () => configuration.current().registry.models,
    requestsInFlight: () => http.streams.count,
    ledger: () => ledger.status(),
    records: () => records.records.status(),
    health: () => health.registry.view(),
    outage: () => health.registry.outage(),
    calls: () => ports.callsInFlight.counts(),
    caps: () => configuration.current().caps,
    activeStreams: () => http.streams.streaming,
    day: () => ledger.peekDay(),
    eventLoopDelayMs: () => http.load.eventLoopDelayMs,
    scanMemory: () => ({ ...http.messageCache.counts, bytes: http.messageCache.bytes }),
  });
  return {
    url: http.url,
    version,
    settings,
    ports,
    records: records.records,
    http,
    /** The metrics of this process alone. */
    metricsSnapshot() {
      finished.flush();
      return metrics.snapshot();
    },
    /** Present in demo mode. */
    simulator,
    /** Reads policy and model registry again, as on SIGHUP. */
    reload: () => live.reload(),
    /** Shuts down gracefully (`drainRequests`), and flushes the ledger. */
    async drain(acceptMs: number, streamsMs: number, forceSignal = new AbortController().signal) {
      await drainRequests(http, context, acceptMs, streamsMs, forceSignal);
      await closing.closeAll();
    },
  };
}

/**
 * Conversations whose model is known, and for how long after its last answer: aggregators keep the context of a prompt
 * cached for some minutes up to half an hour. One takes about 200 bytes.
 */
const conversationLimits = { remembered: 20_000, remembered_ms: 1_800_000 };

/** How many goals have their last model remembered, for the status endpoint. */
const maxGoals = 1_000;
