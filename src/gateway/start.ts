import { healthSync } from "#health/health-sync.ts";
import { healthRegistry } from "#health/registry.ts";
import { openHealthStore } from "#health/store/open-health-store.ts";
import type { HealthReport } from "#http/endpoints/health.ts";
import { maxStreams as maxStreamsOf } from "#http/limits/resource-limits.ts";
import { loadSampler, readText, shedReason } from "#http/limits/shedding.ts";
import { type HttpServer, startServer } from "#http/server.ts";
import { adhocGoal, type BillingLookups, type Ledger } from "#ledger/ledger.ts";
import { openLedger } from "#ledger/open-ledger.ts";
import { openPriceBookStore } from "#models/price-book/open-price-book-store.ts";
import { emptyPriceBook, type PriceBook, withPriceBook } from "#models/price-book/price-book.ts";
import { PriceBookReader } from "#models/price-book/price-book-reader.ts";
import { retryBudget } from "#pipeline/execute/retry/retry-budget.ts";
import { fieldRulesOf } from "#pipeline/field-rules.ts";
import type { Configuration, Ports } from "#pipeline/ports.ts";
import { startBillingLookup } from "#pipeline/settle/billing-lookup.ts";
import { maxCredibleCost } from "#pipeline/settle/cost.ts";
import { createBatcher } from "#platform/batcher.ts";
import { systemClock } from "#platform/system-clock.ts";
import type { Clock, Random, Timers } from "#platform/time.ts";
import { timerWheel } from "#platform/timers.ts";
import { liveConfig, type ReloadReport } from "#policy/live-config.ts";
import type { Config } from "#policy/load-config.ts";
import { privacyEngine } from "#privacy/engine.ts";
import type { RequestRecord } from "#records/record.ts";
import { SharedMemory } from "#routing-memory/shared-memory.ts";
import { sharedConversationMemory, sharedTaskMemory } from "#routing-memory/shared-parts.ts";
import { openRoutingMemoryStore } from "#routing-memory/store/open-routing-memory-store.ts";
import { loadAuthKeys } from "#settings/auth-keys.ts";
import type { Problem } from "#settings/problem.ts";
import type { Settings } from "#settings/settings.ts";
import { type Simulator, startSimulator } from "#simulator/simulator.ts";
import { type Log, loggedError, logId, operatorText, requestFields, silentLog } from "#telemetry/log/log.ts";
import type { MetricSnapshot } from "#telemetry/metrics/merged-metrics.ts";
import { createMetrics, type Metrics } from "#telemetry/metrics/metrics.ts";
import { isEnabled, priceSourceOf } from "#upstream/aggregator/aggregator.ts";
import { readGeneration } from "#upstream/aggregator/generation.ts";
import { readModelList } from "#upstream/aggregator/model-list.ts";
import { upstreamClient } from "#upstream/client.ts";
import pkg from "../../package.json" with { type: "json" };
import { drainRequests } from "./drain.ts";
import {
  announceFilteredCalls,
  announceHealth,
  announceLedger,
  announceOtherModel,
  announcePrices,
  countedLedger,
} from "./observers.ts";

/** What a test, or another program around the gateway, may put in the place of what this file chooses. */
export interface Overrides {
  readonly clock?: Clock;
  readonly timers?: Timers;
  readonly random?: Random;
  readonly log?: Log;
  readonly ledger?: Ledger;
  /** Where this process is one of several workers: what all of them together have to say. */
  readonly workers?: WorkersView;
  /** Idle limit of callers' connections, in seconds. */
  readonly idleSeconds?: number;
}

/** What several workers together answer; undefined when they cannot be asked now. */
export interface WorkersView {
  metricsText(): Promise<string | undefined>;
  health(): Promise<HealthReport | undefined>;
}

/** A gateway that listens. */
export interface Gateway {
  readonly url: string;
  readonly version: string;
  readonly settings: Settings;
  readonly ports: Ports;
  readonly metrics: Metrics;
  readonly http: HttpServer;
  /** The metrics of this process alone. */
  metricsSnapshot(): Promise<MetricSnapshot[]>;
  /** Present in demo mode. */
  readonly simulator?: Simulator;
  /** Reads policy and model registry again, as on SIGHUP. */
  reload(): Promise<ReloadReport>;
  /**
   * Ends it well: not ready any more, `acceptMs` of further requests, then `streamsMs` for what is under way, then an error
   * in its place, then the ledger is flushed. Aborting `forceSignal` skips to the flush.
   */
  drain(acceptMs: number, streamsMs: number, forceSignal?: AbortSignal): Promise<void>;
}

export type Started =
  | { readonly kind: "ok"; readonly gateway: Gateway }
  | { readonly kind: "invalid"; readonly problems: readonly Problem[] };

/** Puts the parts together and listens. Problems in files are returned; a store or a port that cannot be had is thrown. */
export async function startGateway(settings: Settings, overrides: Overrides = {}): Promise<Started> {
  const clock = overrides.clock ?? systemClock;
  const timers = overrides.timers ?? timerWheel({ clock });
  const random = overrides.random ?? Math.random;
  const log = overrides.log ?? silentLog;
  const metrics = createMetrics();
  const closing: (() => void | Promise<void>)[] = [];

  const keys = settings.authKeysFile === undefined ? undefined : loadAuthKeys(settings.authKeysFile);
  let configuration: Configuration | undefined;
  let book = emptyPriceBook;
  let prices: PriceBookReader | undefined;
  let loaded: Config | undefined;
  const apply = (config: Config) => {
    configuration = priced(configurationOf(config, settings, log), config, settings, book);
    loaded = config;
    prices?.configured();
  };
  const live = await liveConfig({
    policyPath: settings.policyPath,
    registryPath: settings.registryPath,
    log,
    onChange: apply,
    onReload: (kind) => metrics.configReloaded(kind),
    clock,
  });
  if (live.kind === "invalid" || keys?.kind === "invalid") {
    if (live.kind === "ok") live.close();
    const problems = [live, keys].flatMap((part) => (part?.kind === "invalid" ? part.problems : []));
    return { kind: "invalid", problems };
  }
  const accepted = keys?.keys;
  closing.push(() => live.close());
  apply(live.current());
  const loadedConfig = (): Config => loaded ?? live.current();
  const configStatus = () => live.status();
  const reload = () => live.reload();
  const current = (): Configuration => {
    if (configuration === undefined) throw new Error("unreachable: applied above");
    return configuration;
  };

  try {
    return { kind: "ok", gateway: await assemble() };
  } catch (error) {
    for (const close of closing.reverse()) await close();
    throw error;
  }

  async function assemble(): Promise<Gateway> {
    const ledger =
      overrides.ledger ??
      (await openLedger(settings.databaseUrl, {
        nodeId: settings.nodeId,
        clock,
        timers,
        random,
        waitMs: settings.databaseWaitMs,
        log: (event) => announceLedger(event, log, metrics),
        retentionDays: () => current().policy.records.retention_days,
        expectUsed: () => current().policy.budget.expect_ledger,
      }));
    closing.push(() => ledger.close(5_000));
    // Nearly all requests have no goal: the first of them need not ask the store.
    await ledger.read(adhocGoal);

    const health = healthRegistry({
      models: () => current().registry,
      rules: () => current().policy.health,
      clock,
      random,
      onChange: (change) => announceHealth(change, log, metrics),
    });
    const sharesDatabase = settings.workers > 1 || !settings.databaseUrl.startsWith("sqlite:");
    const keeper = healthSync({
      registry: health,
      store: await openHealthStore(settings.databaseUrl),
      clock,
      timers,
      nodeId: settings.nodeId,
      shared: sharesDatabase,
      onStore: (state, problem) =>
        log("health_store_changed", { away: state === "away", detail: operatorText(problem ?? "") }),
    });
    closing.push(() => keeper.close());
    await keeper.start();

    const memory = new SharedMemory({
      openStore: () => openRoutingMemoryStore(settings.databaseUrl),
      shared: sharesDatabase,
      clock,
      timers,
      onStore: (state, problem) =>
        log("routing_memory_changed", {
          away: state === "away",
          detail: operatorText(problem instanceof Error ? problem.message : ""),
        }),
    });
    closing.push(() => memory.close());

    const simulator =
      settings.upstream.kind === "demo"
        ? await startSimulator({ models: () => current().registry.models.values(), clock, random, timers })
        : undefined;
    if (simulator !== undefined) closing.push(() => simulator.stop());

    const baseUrl = settings.upstream.kind === "aggregator" ? settings.upstream.baseUrl : (simulator?.url ?? "");
    const reader = new PriceBookReader({
      source: priceSourceOf(settings.upstream),
      enabled: () => isChosen(current().policy.upstream.price_book, settings),
      models: () => loadedConfig().registry.models.values(),
      readList: (signal) => readModelList({ baseUrl, clock, timers, signal }),
      openStore: () => openPriceBookStore(settings.databaseUrl),
      clock,
      timers,
      random,
      onChange: (changed) => {
        book = changed;
        configuration = priced(current(), loadedConfig(), settings, book);
      },
      onEvent: (event) => announcePrices(event, current().registry.priceVersion ?? "", log, metrics),
    });
    closing.push(() => reader.close());
    const pricesRead = reader.start(current().policy.upstream.price_book_wait_ms);
    prices = reader;

    const aggregator =
      settings.upstream.kind === "aggregator"
        ? {
            baseUrl: settings.upstream.baseUrl,
            ...(settings.upstream.apiKey === undefined ? {} : { apiKey: settings.upstream.apiKey }),
          }
        : { baseUrl };
    const looksUpBilling = () => isChosen(current().policy.upstream.generation_lookup, settings);
    if (hasLookups(ledger)) {
      const stopLookup = startBillingLookup({
        ledger,
        ask: (id) => readGeneration({ ...aggregator, clock, timers }, id),
        enabled: looksUpBilling,
        maxCredibleCost: (hold) => maxCredibleCost(hold, current().policy.budget.absurd_cost_factor),
        timers,
        random,
        onAnswer: metrics.billingAsked,
      });
      closing.push(stopLookup);
    }
    const upstream = upstreamClient({
      ...aggregator,
      keepsGenerationIds: looksUpBilling,
      clock,
      timers,
      limits: () => {
        const { max_answer_bytes, max_answer_values, max_event_bytes } = current().policy.stream;
        return { maxAnswerBytes: max_answer_bytes, maxValues: max_answer_values, maxEventBytes: max_event_bytes };
      },
    });

    const finished = createBatcher<RequestRecord>({
      ...recordBatching,
      onFlush: (records) => {
        for (const record of records) metrics.requestFinished(record);
        for (const record of records) {
          log("request_finished", requestFields(record), record.atMs + record.timings.totalMs);
          if (announceFilteredCalls(record, log, metrics)) reader.suspect();
          for (const attempt of record.attempts) announceOtherModel(record, attempt, log);
        }
      },
    });
    closing.push(() => finished.flush());
    const ports: Ports = {
      clock,
      random,
      timers,
      ledger: countedLedger(ledger, metrics),
      health,
      upstream,
      tasks: sharedTaskMemory(memory, clock, () => current().policy.tasks),
      conversations: sharedConversationMemory(memory, clock, () => current().policy.routing.affinity),
      retryBudget: retryBudget(clock, () => current().policy.upstream),
      newId: () => Bun.randomUUIDv7(),
      config: current,
      // Recorded before the answer is sent, unless the process is busy: then in a batch.
      record: (record) => {
        finished.add(record);
        if (http.streams.count <= 1) finished.flush();
      },
    };

    const { workers } = overrides;
    const maxStreams = maxStreamsOf(readText);
    const load = loadSampler({ clock });
    closing.push(() => load.stop());
    await pricesRead;
    const http = startServer({
      host: settings.host,
      port: settings.port,
      reusePort: settings.workers > 1,
      version: pkg.version,
      demo: settings.upstream.kind === "demo",
      maxRequestBytes: settings.maxRequestBytes,
      maxRequestValues: settings.maxRequestValues,
      maxBytesInFlight: settings.maxBytesInFlight,
      allowedHosts: settings.allowedHosts,
      auth: () => ({
        minTokenLength: settings.authMinTokenLength,
        ...(accepted === undefined ? {} : { isListed: (token: string) => accepted.has(sha256Hex(token)) }),
      }),
      ports,
      configStatus,
      metricsText: async () => {
        finished.flush();
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
          ledgerOldestMs: ledger.status().oldestMs,
        }),
      onDryRun: (decision, durationMs) => metrics.dryRunFinished(decision, durationMs),
      onRejected: ({ requestId, route, method, status }) => {
        metrics.requestRejected(route, status);
        log("request_rejected", { request_id: logId(requestId), status, method: logId(method), route: logId(route) });
      },
      ...(overrides.idleSeconds === undefined ? {} : { idleSeconds: overrides.idleSeconds }),
      onCrash: (error, requestId) => log("request_crashed", { request_id: logId(requestId), ...loggedError(error) }),
    });
    metrics.observe({
      version: pkg.version,
      models: () => current().registry.models,
      requestsInFlight: () => http.streams.count,
      ledger: () => ledger.status(),
      health: () => health.view(),
      caps: () => current().caps,
      config: configStatus,
      activeStreams: () => http.streams.streaming,
      day: () => ledger.peekDay(),
      eventLoopDelayMs: () => load.eventLoopDelayMs,
      priceBookReadMs: () => reader.readMs,
    });

    return {
      url: http.url,
      version: pkg.version,
      settings,
      ports,
      metrics,
      http,
      metricsSnapshot() {
        finished.flush();
        return metrics.snapshot();
      },
      ...(simulator === undefined ? {} : { simulator }),
      reload,
      async drain(acceptMs, streamsMs, forceSignal = neverForced) {
        await drainRequests({ http, timers, acceptMs, streamsMs, forceSignal });
        for (const close of closing.splice(0).reverse()) await close();
      },
    };
  }
}

/** Finished requests are logged and counted in batches of at most `size`, at the latest after `withinMs`. */
const recordBatching = { size: 32, withinMs: 20 };

const neverForced = new AbortController().signal;

/** A ledger that a test hands in need not keep what the aggregator is to be asked. */
function hasLookups(ledger: Ledger): ledger is Ledger & BillingLookups {
  return "takeLookups" in ledger;
}

/** The configuration as requests see it: with the privacy engine that its policy makes, which also knows our own secrets. */
function configurationOf(config: Config, settings: Settings, log: Log): Configuration {
  const secrets = [
    ...(settings.upstream.kind === "aggregator" && settings.upstream.apiKey !== undefined
      ? [{ rule: "gateway_upstream_api_key", value: settings.upstream.apiKey, sentUpstream: true as const }]
      : []),
    ...(settings.dashboardToken === undefined
      ? []
      : [{ rule: "gateway_dashboard_token", value: settings.dashboardToken }]),
  ];
  const privacy = privacyEngine(config.policy.privacy, secrets);
  for (const rule of privacy.disabledRules) log("privacy_rule_disabled", { rule: logId(rule) });
  const priceLimit = isChosen(config.policy.upstream.price_limit, settings);
  return { ...config, fields: fieldRulesOf(config.policy), privacy, priceLimit };
}

/** The configuration with the prices of its registry and the book, where the policy wants that. */
function priced(configuration: Configuration, config: Config, settings: Settings, book: PriceBook): Configuration {
  const inForce = isChosen(config.policy.upstream.price_book, settings) ? book : emptyPriceBook;
  return { ...configuration, registry: withPriceBook(config.registry, inForce) };
}

/** The simulator has all that an aggregator can have, but only for who asks for it. */
function isChosen(choice: "auto" | "on" | "off", { upstream }: Settings): boolean {
  return isEnabled(choice, upstream.kind === "demo" ? undefined : upstream.baseUrl);
}

function sha256Hex(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}
