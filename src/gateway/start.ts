import { type LiveConfig, liveConfig } from "#config/live-config.ts";
import type { Problem } from "#config/problem.ts";
import type { Settings } from "#config/settings.ts";
import { RecentNotices } from "#dashboard/notices.ts";
import type { ModelKey } from "#domain/model.ts";
import type { Ledger } from "#ledger/ledger.ts";
import type { PriceBookReader } from "#models/price-book/price-book-reader.ts";
import { CallerEvidence } from "#pipeline/execute/caller-faults.ts";
import { CallsInFlight } from "#pipeline/execute/calls-in-flight.ts";
import { FirstEventTimes } from "#pipeline/execute/first-event-times.ts";
import { RetryBudget } from "#pipeline/execute/retry-budget.ts";
import type { Ports } from "#pipeline/ports.ts";
import { createBatcher } from "#platform/batcher.ts";
import { LruMap, limitedMemory } from "#platform/lru-map.ts";
import { systemClock } from "#platform/system-clock.ts";
import type { Clock, Random, Timers } from "#platform/time.ts";
import { timerWheel } from "#platform/timers.ts";
import type { RequestRecord } from "#records/record.ts";
import { storedTaskMemory } from "#records/task-memory.ts";
import { type Log, requestFields, silentLog } from "#telemetry/log/log.ts";
import { createMetrics } from "#telemetry/metrics/metrics.ts";
import pkg from "../../package.json" with { type: "json" };
import { Closing } from "./closing.ts";
import { type GatewayRecords, openRecords } from "./decision-records.ts";
import { drainRequests } from "./drain.ts";
import { countReservation, reportAttempts } from "./events.ts";
import type { GatewayContext } from "./gateway-context.ts";
import { LiveConfiguration } from "./live-configuration.ts";
import { openDashboard } from "./open-dashboard.ts";
import {
  openGatewayLedger,
  openHealth,
  openKeyUsage,
  openPrices,
  openSimulator,
  openUpstream,
  upstreamAddress,
} from "./open-parts.ts";
import { startHttp, type WorkersView } from "./start-http.ts";
import { tracedUpstream } from "./traced-upstream.ts";
import { openTracing, tracedRequests } from "./tracing.ts";

/** Parts that a test or an embedding program replaces. */
export interface Overrides {
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly random?: Random;
  readonly log?: Log;
  readonly ledger?: Ledger;
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
  const context: GatewayContext = {
    settings,
    configuration: new LiveConfiguration(settings, log),
    time: { clock, timers, random },
    log,
    notices: new RecentNotices(),
    metrics: createMetrics(),
    ...(ledger === undefined ? {} : { ledger }),
    onLedgerEvent: [],
    closing: new Closing(timers),
    sharesDatabase: settings.workers > 1 || !settings.databaseUrl.startsWith("sqlite:"),
  };
  const { configuration, metrics, closing } = context;

  const { upstream, policyPath, registryPath, authKeysFile } = settings;
  const live = liveConfig({
    ...{ policyPath, registryPath, authKeysFile, log, clock },
    upstreamKey:
      upstream.kind !== "aggregator" || upstream.apiKeyFile === undefined || upstream.apiKey === undefined
        ? undefined
        : { path: upstream.apiKeyFile, value: upstream.apiKey },
    onChange: (config) => configuration.apply(config),
    onUpstreamKey: (key) => configuration.applyUpstreamKey(key),
    onReload: (kind) => metrics.count("smart_gateway_config_reloads_total", 1, kind),
  });
  if (live.kind === "invalid") return live;
  closing.add(() => live.close());
  configuration.apply(live.current());
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
  const { version } = pkg;
  const configStatus = () => live.status();
  const ledger = await openGatewayLedger(context);
  const records = openRecords(ledger, context);
  const health = await openHealth(context);
  const simulator = await openSimulator(context);
  const address = upstreamAddress(context, simulator);
  const prices = openPrices(address, context);
  const pricesRead = prices.start(configuration.policy().upstream.price_book_wait_ms);
  configuration.onChange(() => prices.configured());
  const tracing = await openTracing(context, version);
  const untraced = openUpstream(address, ledger, context);
  const keyUsage = openKeyUsage(address, ledger, context);
  const finished = finishedRequests(prices, records, context);
  const lastModels = new LruMap<string, LastModel>();
  const limits = () => configuration.policy().tasks;
  const ports: Ports = {
    ...time,
    ledger,
    onReserved(reservation, reply) {
      countReservation(reservation, reply, metrics);
      if (reply.kind !== "held") return;
      lastModels.set(reservation.goal, { model: reservation.modelKey, atMs: clock.now() });
      lastModels.trim(maxGoals);
    },
    health: health.registry,
    upstream:
      tracing === undefined
        ? untraced
        : tracedUpstream(
            untraced,
            tracing,
            address().baseUrl,
            (name) => configuration.current().privacy.redactText(name).text,
          ),
    tasks: storedTaskMemory({ states: records.tasks, shared, clock, limits }),
    conversations: limitedMemory(() => configuration.policy().routing.affinity),
    retryBudget: new RetryBudget(clock, () => configuration.policy().upstream),
    firstEventTimes: new FirstEventTimes(clock),
    callsInFlight: new CallsInFlight(time.timers),
    callerEvidence: new CallerEvidence(clock),
    newId: () => Bun.randomUUIDv7(),
    config: () => configuration.current(),
    record(record) {
      finished.add(record);
      // Recorded in the turn behind the answer, unless the process is busy: then in a batch.
      if (http.streams.count <= 1) setImmediate(() => finished.flush());
    },
  };
  await pricesRead;
  const http = startHttp(
    {
      ...{ ports, version, configStatus, records, workers, idleSeconds },
      keys: () => live.keys(),
      flushRecords: () => finished.flush(),
      lastModel: (goal) => lastModels.get(goal),
      dashboard: openDashboard({ ledger, records, health, configStatus, prices, keyUsage }, context),
      traces: tracing && tracedRequests(tracing),
    },
    context,
  );
  return {
    url: http.url,
    version,
    settings,
    ports,
    metrics,
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
    /**
     * Shuts down gracefully: `/readyz` answers 503 while requests are accepted for `acceptMs`, requests in progress get `streamsMs`
     * to end, the rest get an error, and the ledger is flushed. Aborting `forceSignal` skips to the flush.
     */
    async drain(acceptMs: number, streamsMs: number, forceSignal = new AbortController().signal) {
      await drainRequests({ http, timers: time.timers, log, acceptMs, streamsMs, forceSignal });
      await closing.closeAll();
    },
  };
}

interface LastModel {
  readonly model: ModelKey;
  readonly atMs: number;
}

/** How many goals have their last model remembered, for the status endpoint. */
const maxGoals = 1_000;

/** Finished requests are logged and counted in batches of at most `size`, at the latest after `withinMs`. */
const recordBatching = { size: 32, withinMs: 20 };

/** Passes the records of finished requests on to the metrics and the log. */
function finishedRequests(prices: PriceBookReader, kept: GatewayRecords, context: GatewayContext) {
  const { log, metrics, closing } = context;
  const finished = createBatcher<RequestRecord>({
    ...recordBatching,
    onFlush(records) {
      for (const record of records) metrics.requestFinished(record);
      for (const record of records) kept.requestFinished(record);
      for (const record of records) {
        log("request_finished", requestFields(record), record.atMs + record.timings.totalMs);
        if (reportAttempts(record, context)) prices.suspect();
      }
    },
  });
  closing.add(() => finished.flush());
  return finished;
}
