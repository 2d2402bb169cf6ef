import type { Handler } from "#http/endpoint.ts";
import type { ServerConnection } from "#http/server-options.ts";
import type { ReconciliationJob } from "#ledger/reconcile/reconciliation-job.ts";
import type { PriceBookReader } from "#models/price-book/price-book-reader.ts";
import type { OperatorSources } from "#operator/sources.ts";
import { openStores } from "#operator/stores.ts";
import type { GatewayRecords } from "./decision-records.ts";
import type { GatewayContext } from "./gateway-context.ts";
import type { OpenHealth } from "./open-parts.ts";

type DashboardParts = Pick<OperatorSources, "ledger" | "configStatus" | "keys"> & {
  readonly records: GatewayRecords;
  readonly health: OpenHealth;
  readonly prices: PriceBookReader;
  /** Absent without an upstream key. */
  readonly keyUsage: ReconciliationJob | undefined;
};

/** The dashboard over the gateway's parts. Its database connections are opened by the first request that needs them. */
export function openDashboard(
  parts: DashboardParts,
  context: GatewayContext,
): (connection: ServerConnection) => Handler {
  const { settings, version, configuration, time, notices, closing } = context;
  const { nodeId, command } = settings;
  const { ledger, configStatus, keys, prices, health, keyUsage } = parts;
  const { records, policyHash, holdClosed, explained } = parts.records;
  const stores = openStores(settings.databaseUrl, true);
  closing.addWithTimeout(() => stores.close());
  const sources: OperatorSources = {
    ...time,
    ...{ notices, records, policyHash, holdClosed, explained, ledger, configStatus, keys, stores },
    installation: { version, nodeId, demo: settings.upstream.kind === "demo", command },
    config: () => configuration.current(),
    files: settings,
    health: health.registry,
    overrides: health.overrides,
    drifts: () => prices.drifts.map((drift) => ({ ...drift, atMs: prices.readMs ?? 0 })),
    priceBookReadMs: () => prices.readMs,
    reconciliation: () => keyUsage?.latest,
  };
  const { dashboardToken: token, allowedHosts } = settings;
  return (connection) => {
    let handler: Promise<Handler> | undefined;
    const load = async () => {
      const { dashboardHandler } = await import("#dashboard/dashboard.ts");
      return dashboardHandler(sources, { token, allowedHosts }, connection);
    };
    return async (...request) => {
      handler ??= load();
      return (await handler)(...request);
    };
  };
}
