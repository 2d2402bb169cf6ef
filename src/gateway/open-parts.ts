import type { LiveConfig } from "#config/live-config.ts";
import { inMemoryPath } from "#db/database-url.ts";
import { HealthSync } from "#health/health-sync.ts";
import { ProcessHealthRegistry } from "#health/registry.ts";
import { openHealthStore } from "#health/store/health-store.ts";
import { adhocGoal, type Ledger } from "#ledger/ledger.ts";
import { type LedgerEvent, openLedger } from "#ledger/open-ledger.ts";
import { startBillingLookup } from "#ledger/reconcile/billing-lookup.ts";
import { keyDigestOf, openKeyUsageStore } from "#ledger/reconcile/key-usage-store.ts";
import { ReconciliationJob } from "#ledger/reconcile/reconciliation-job.ts";
import { PriceBookReader } from "#models/price-book/price-book-reader.ts";
import { openPriceBookStore } from "#models/price-book/price-book-store.ts";
import { openCallerKeys, pollAcceptedKeys } from "#operator/caller-keys.ts";
import { dearestCallOf, maxCredibleCost } from "#pipeline/settle/cost.ts";
import type { Simulator } from "#simulator/simulator.ts";
import { operatorText } from "#telemetry/log/log.ts";
import { priceSourceOf, readGeneration, readKeyUsage, readModelList, spentInDay } from "#upstream/aggregator.ts";
import { UpstreamClient } from "#upstream/client.ts";
import type { Upstream } from "#upstream/upstream.ts";
import { healthReports, keyUsageReports, ledgerReports, priceReports, report } from "./events.ts";
import type { GatewayContext, GatewayLedger } from "./gateway-context.ts";

/** The parts behind the ports: each opened with the adapter that the settings choose, and closed with the gateway. */

/** How long a start waits for a PostgreSQL server that starts together with it, as after a power cut; then a supervisor tries again. */
const databaseWaitMs = 60_000;

/** `onEvent` is called with each event of the ledger, after it was reported. */
export async function openGatewayLedger(
  context: GatewayContext,
  onEvent: (event: LedgerEvent) => void,
): Promise<GatewayLedger> {
  const { settings, configuration, time, closing } = context;
  const ledger =
    context.ledger ??
    (await openLedger(settings.databaseUrl, {
      ...time,
      nodeId: settings.nodeId,
      waitMs: databaseWaitMs,
      requireMigrated: settings.databaseMigrations === "require",
      log(event) {
        report(ledgerReports, event, context);
        onEvent(event);
      },
      retentionDays: () => configuration.policy().records.retention_days,
      expectExisting: () => configuration.policy().budget.expect_ledger,
    }));
  closing.add(() => ledger.close(5_000));
  // Nearly all requests have no goal: the first of them need not read the store.
  await ledger.read(adhocGoal);
  return ledger;
}

/** Who may come in: the keys of the file and of the database, if that does not end with the process. */
export async function openAcceptedKeys(
  { keys }: Pick<LiveConfig, "keys">,
  { settings, time, closing }: GatewayContext,
) {
  if (settings.databaseUrl === `sqlite:${inMemoryPath}`) return keys;
  const store = await openCallerKeys(settings.databaseUrl);
  closing.add(() => store.close());
  const accepted = await pollAcceptedKeys(keys, store, time.timers);
  closing.add(() => accepted.close());
  return accepted.current;
}

export type OpenHealth = Awaited<ReturnType<typeof openHealth>>;

export async function openHealth(context: GatewayContext) {
  const { settings, configuration, time, log, closing } = context;
  const registry = new ProcessHealthRegistry({
    ...time,
    models: () => configuration.current().registry,
    rules: () => configuration.policy().health,
    onChange: (change) => report(healthReports, change, context),
  });
  const store = await openHealthStore(settings.databaseUrl);
  const { nodeId } = settings;
  const onStore = (state: "available" | "unavailable", problem?: string) =>
    log("health_store_changed", { unavailable: state === "unavailable", detail: operatorText(problem ?? "") });
  const sync = new HealthSync({ ...time, registry, store, nodeId, onStore });
  closing.add(() => sync.close());
  await sync.start();
  return {
    registry,
    overrides: {
      set: sync.override.bind(sync),
      list: async () => (await store.load()).overrides,
    },
  };
}

/** The built-in upstream of demo mode; undefined with an aggregator. */
export async function openSimulator({ settings, configuration, time, closing }: GatewayContext) {
  if (settings.upstream.kind !== "demo") return undefined;
  const { startSimulator } = await import("#simulator/simulator.ts");
  const simulator = await startSimulator({ ...time, models: () => configuration.current().registry.models.values() });
  closing.add(() => simulator.stop());
  return simulator;
}

/** Where calls go, and with which key: another one, once its file has changed. */
export type UpstreamAddress = () => { readonly baseUrl: string; readonly apiKey?: string };

export function upstreamAddress(
  { settings: { upstream }, configuration }: GatewayContext,
  simulator: Simulator | undefined,
): UpstreamAddress {
  const baseUrl = upstream.kind === "aggregator" ? upstream.baseUrl : (simulator?.url ?? "");
  return () => {
    const { upstreamKey: apiKey } = configuration;
    return apiKey === undefined ? { baseUrl } : { baseUrl, apiKey };
  };
}

export function openPrices(address: UpstreamAddress, context: GatewayContext): PriceBookReader {
  const { settings, configuration, time, metrics, closing } = context;
  const reader = new PriceBookReader({
    ...time,
    source: priceSourceOf(settings.upstream),
    enabled: () => configuration.isChosen("price_book"),
    models: () => configuration.loaded().registry.models.values(),
    readList: (signal) => readModelList({ ...time, baseUrl: address().baseUrl, signal }),
    openStore: () => openPriceBookStore(settings.databaseUrl),
    onChange: (book) => configuration.applyPrices(book),
    onEvent: (event) => report(priceReports, event, context),
  });
  closing.addWithTimeout(() => reader.close());
  metrics.observe({ priceBookReadMs: () => reader.readMs, priceDrifts: () => reader.drifts });
  return reader;
}

/** Compares the aggregator's count of the day with the ledger's, in the background. Without a key there is none. */
export function openKeyUsage(address: UpstreamAddress, ledger: Ledger, context: GatewayContext) {
  const { settings, configuration, time, metrics, closing } = context;
  if (address().apiKey === undefined) return undefined;
  const job = new ReconciliationJob({
    ...time,
    source: address().baseUrl,
    get keyDigest() {
      return keyDigestOf(address().apiKey ?? "");
    },
    enabled: () => configuration.isChosen("key_usage"),
    async ask(signal) {
      const reply = await readKeyUsage({ apiKey: "", ...address(), ...time, signal });
      if (reply.kind === "ok") return { ...reply.usage, kind: "ok", spent: spentInDay(reply.usage) };
      return { kind: "failed", detail: reply.kind === "failed" ? reply.detail : `it answered ${reply.status}` };
    },
    async ledgerDay() {
      const spend = await ledger.read(adhocGoal);
      const today = ledger.peekDay();
      return spend === undefined || today === undefined ? undefined : { day: spend.day, ...today };
    },
    openStore: () => openKeyUsageStore(settings.databaseUrl),
    onEvent: (event) => report(keyUsageReports, event, context),
  });
  closing.addWithTimeout(() => job.close());
  metrics.observe({ reconciliation: () => job.latest, keyLimitRemaining: () => job.limitRemaining });
  job.start();
  return job;
}

export function openUpstream(address: UpstreamAddress, ledger: GatewayLedger, context: GatewayContext): Upstream {
  const { configuration, time, metrics, closing } = context;
  const asksBilling = () => configuration.isChosen("generation_lookup");
  closing.add(
    startBillingLookup({
      ...time,
      ledger,
      ask: (id) => readGeneration({ ...address(), ...time }, id),
      enabled: asksBilling,
      maxCredibleCost: (hold) => maxCredibleCost(hold, dearestCallOf(configuration.current().registry)),
      onAnswer: (answer) => metrics.count("smart_gateway_billing_lookups_total", 1, answer),
    }),
  );
  const clientTo = (given: ReturnType<UpstreamAddress>) =>
    new UpstreamClient({
      ...given,
      ...time,
      asksBilling,
    });
  let client = clientTo(address());
  configuration.onUpstreamKey = (apiKey) => {
    client = clientTo({ ...address(), apiKey });
  };
  return { send: (call, signal) => client.send(call, signal) };
}
