import type { Overrides } from "#dashboard/sources.ts";
import { inMemoryPath } from "#db/database-url.ts";
import { healthSync } from "#health/health-sync.ts";
import type { OperatedHealthRegistry } from "#health/operated-registry.ts";
import { healthRegistry } from "#health/registry.ts";
import { openHealthStore } from "#health/store/sql-store.ts";
import { ChargedWithoutProof } from "#ledger/admin/charged-without-proof.ts";
import { openLedgerAdmin } from "#ledger/admin/open-ledger-admin.ts";
import { adhocGoal, type BillingLookups, type Ledger, type SharedConnection } from "#ledger/ledger.ts";
import { openLedger } from "#ledger/open-ledger.ts";
import { keyDigestOf, openKeyUsageStore } from "#ledger/reconcile/key-usage-store.ts";
import { KeyUsageWatch } from "#ledger/reconcile/key-usage-watch.ts";
import { PriceBookReader } from "#models/price-book/price-book-reader.ts";
import { openPriceBookStore } from "#models/price-book/price-book-store.ts";
import { startBillingLookup } from "#pipeline/settle/billing-lookup.ts";
import { maxCredibleCost } from "#pipeline/settle/cost.ts";
import type { Simulator } from "#simulator/simulator.ts";
import { operatorText } from "#telemetry/log/log.ts";
import { priceSourceOf, readGeneration, readKeyUsage, readModelList, spentInDay } from "#upstream/aggregator.ts";
import { upstreamClient } from "#upstream/client.ts";
import type { Upstream } from "#upstream/upstream.ts";
import type { GatewayContext } from "./gateway-context.ts";
import { isChosen } from "./live-configuration.ts";
import { reportHealthChange, reportKeyUsageEvent, reportLedgerEvent, reportPriceBookEvent } from "./observers.ts";

/** The parts behind the ports: each is opened with the adapter that the settings choose, and closed with the gateway. */

export async function openGatewayLedger(context: GatewayContext): Promise<Ledger & SharedConnection> {
  const { settings, configuration, clock, timers, random, log, metrics, closing } = context;
  const ledger: Ledger & SharedConnection =
    context.ledger ??
    (await openLedger(settings.databaseUrl, {
      nodeId: settings.nodeId,
      clock,
      timers,
      random,
      waitMs: settings.databaseWaitMs,
      log: (event) => {
        reportLedgerEvent(event, log, metrics);
        for (const listener of context.onLedgerEvent) listener(event);
      },
      retentionDays: () => configuration.current().policy.records.retention_days,
      expectExisting: () => configuration.current().policy.budget.expect_ledger,
    }));
  closing.add(() => ledger.close(5_000));
  // Nearly all requests have no goal: the first of them need not read the store.
  await ledger.read(adhocGoal);
  return ledger;
}

export interface OpenHealth {
  readonly registry: OperatedHealthRegistry;
  /** Overrides of the models' health by operators. */
  readonly overrides: Overrides;
}

export async function openHealth(context: GatewayContext): Promise<OpenHealth> {
  const { settings, configuration, clock, timers, random, log, metrics, closing } = context;
  const registry = healthRegistry({
    models: () => configuration.current().registry,
    rules: () => configuration.current().policy.health,
    clock,
    random,
    onChange: (change) => reportHealthChange(change, log, metrics),
  });
  const store = await openHealthStore(settings.databaseUrl);
  const sync = healthSync({
    registry,
    store,
    clock,
    timers,
    nodeId: settings.nodeId,
    shared: sharesDatabase(context),
    onStore: (state, problem) =>
      log("health_store_changed", { away: state === "unavailable", detail: operatorText(problem ?? "") }),
  });
  closing.add(() => sync.close());
  await sync.start();
  return {
    registry,
    overrides: {
      set: (model, action, by) => sync.override(model, action, by),
      list: async () => (await store.load()).overrides,
    },
  };
}

/** Whether other processes may use the same database. */
export function sharesDatabase({ settings }: GatewayContext): boolean {
  return settings.workers > 1 || !settings.databaseUrl.startsWith("sqlite:");
}

/** The built-in upstream of demo mode; undefined with an aggregator. */
export async function openSimulator(context: GatewayContext): Promise<Simulator | undefined> {
  const { settings, configuration, clock, random, timers, closing } = context;
  if (settings.upstream.kind !== "demo") return undefined;
  const models = () => configuration.current().registry.models.values();
  const { startSimulator } = await import("#simulator/simulator.ts");
  const simulator = await startSimulator({ models, clock, random, timers });
  closing.add(() => simulator.stop());
  return simulator;
}

/** Where calls go, and with which key. */
export interface UpstreamAddress {
  readonly baseUrl: string;
  readonly apiKey?: string;
}

export function upstreamAddressOf({ settings }: GatewayContext, simulator: Simulator | undefined): UpstreamAddress {
  const { upstream } = settings;
  if (upstream.kind !== "aggregator") return { baseUrl: simulator?.url ?? "" };
  return { baseUrl: upstream.baseUrl, ...(upstream.apiKey === undefined ? {} : { apiKey: upstream.apiKey }) };
}

export function openPrices({ baseUrl }: UpstreamAddress, context: GatewayContext): PriceBookReader {
  const { settings, configuration, clock, timers, random, log, metrics, closing } = context;
  const reader = new PriceBookReader({
    source: priceSourceOf(settings.upstream),
    enabled: () => isChosen(configuration.current().policy.upstream.price_book, settings),
    models: () => configuration.loaded().registry.models.values(),
    readList: (signal) => readModelList({ baseUrl, clock, timers, signal }),
    openStore: () => openPriceBookStore(settings.databaseUrl),
    clock,
    timers,
    random,
    onChange: (book) => configuration.applyPrices(book),
    onEvent: (event) => reportPriceBookEvent(event, configuration.current().registry.priceVersion ?? "", log, metrics),
  });
  closing.addWithTimeout(() => reader.close());
  metrics.observe({ priceBookReadMs: () => reader.readMs, priceDrifts: () => reader.drifts });
  return reader;
}

/** Compares the aggregator's own count of the day with the ledger's, in the background. Without a key there is no count. */
export function openKeyUsage(
  { baseUrl, apiKey }: UpstreamAddress,
  ledger: Ledger,
  context: GatewayContext,
): KeyUsageWatch | undefined {
  const { settings, configuration, clock, timers, random, log, metrics, closing } = context;
  if (apiKey === undefined) return undefined;
  const watch = new KeyUsageWatch({
    source: baseUrl,
    keyDigest: keyDigestOf(apiKey),
    enabled: () => isChosen(configuration.current().policy.upstream.key_usage, settings),
    async ask(signal) {
      const reply = await readKeyUsage({ baseUrl, apiKey, clock, timers, signal });
      if (reply.kind === "ok") return { ...reply.usage, kind: "ok", spent: spentInDay(reply.usage) };
      const detail = reply.kind === "failed" ? reply.detail : `it answered ${reply.status}`;
      return { kind: "failed", detail };
    },
    async ledgerDay() {
      const spend = await ledger.read(adhocGoal);
      return spend === undefined ? undefined : { day: spend.day, ...spend.dayAccount };
    },
    openStore: () => openKeyUsageStore(settings.databaseUrl),
    clock,
    timers,
    random,
    onEvent: (event) => reportKeyUsageEvent(event, log),
  });
  closing.addWithTimeout(() => watch.close());
  metrics.observe({ reconciliation: () => watch.latest, keyLimitRemaining: () => watch.limitRemaining });
  watch.start();
  return watch;
}

export function openUpstream(address: UpstreamAddress, ledger: Ledger, context: GatewayContext): Upstream {
  const { settings, configuration, clock, timers, random, metrics, closing } = context;
  // Called for every answer; parsing the base URL is the expensive part, so it is done once here.
  const byDefault = isChosen("auto", settings);
  const looksUpBilling = () => {
    const choice = configuration.current().policy.upstream.generation_lookup;
    return choice === "auto" ? byDefault : choice === "on";
  };
  if (hasLookups(ledger)) {
    const stopLookup = startBillingLookup({
      ledger,
      ask: (id) => readGeneration({ ...address, clock, timers }, id),
      enabled: looksUpBilling,
      maxCredibleCost: (hold) => maxCredibleCost(hold, configuration.current().policy.budget.absurd_cost_factor),
      timers,
      random,
      onAnswer: metrics.billingAsked,
    });
    closing.add(stopLookup);
  }
  return upstreamClient({
    ...address,
    asksBilling: looksUpBilling,
    clock,
    timers,
    limits: () => {
      const { max_answer_bytes, max_answer_values, max_event_bytes } = configuration.current().policy.stream;
      return { maxAnswerBytes: max_answer_bytes, maxValues: max_answer_values, maxEventBytes: max_event_bytes };
    },
  });
}

/** A ledger that a test hands in need not keep pending billing lookups. */
function hasLookups(ledger: Ledger): ledger is Ledger & BillingLookups {
  return "takeLookups" in ledger;
}

/** Watches what today's account was charged without a known cost; a ledger in memory cannot be read beside its gateway. */
export function watchCharges(ledger: Ledger, context: GatewayContext): void {
  const { settings, clock, timers, random, metrics, closing, onLedgerEvent } = context;
  if (settings.databaseUrl === `sqlite:${inMemoryPath}`) return;
  const watch = new ChargedWithoutProof({
    today: async () => (await ledger.read(adhocGoal))?.day,
    open: () => openLedgerAdmin(settings.databaseUrl, true),
    clock,
    timers,
    random,
  });
  onLedgerEvent.push((event) => {
    if (event.kind === "resolved" && (event.state === "EXPIRED_CHARGED" || event.state === "CORRECTED"))
      watch.changed();
  });
  closing.addWithTimeout(() => watch.close());
  metrics.observe({ chargedToday: () => watch.latest });
  watch.start();
}
