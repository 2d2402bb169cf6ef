import { type OperatorActions, openOperatorActions } from "#dashboard/audit.ts";
import type { DashboardSources } from "#dashboard/sources.ts";
import type { Handler } from "#http/endpoint.ts";
import type { ServerConnection } from "#http/server-options.ts";
import type { LedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import { openLedgerAdmin } from "#ledger/admin/open-ledger-admin.ts";
import type { KeyUsageWatch } from "#ledger/reconcile/key-usage-watch.ts";
import type { PriceBookReader } from "#models/price-book/price-book-reader.ts";
import { LazyStore } from "#platform/lazy-store.ts";
import type { GatewayRecords } from "./decision-records.ts";
import type { GatewayContext } from "./gateway-context.ts";
import type { OpenHealth } from "./open-parts.ts";

type DashboardParts = Pick<DashboardSources, "ledger" | "configStatus"> & {
  readonly records: GatewayRecords;
  readonly health: OpenHealth;
  readonly prices: PriceBookReader;
  /** Absent without an upstream key. */
  readonly keyUsage: KeyUsageWatch | undefined;
};

/** The dashboard over the gateway's parts. Its database connections are opened by the first request that needs them. */
export function openDashboard(
  parts: DashboardParts,
  context: GatewayContext,
): (connection: ServerConnection) => Handler {
  const { settings, version, configuration, time, notices, closing } = context;
  const { nodeId, command } = settings;
  const { ledger, configStatus, prices, health, keyUsage } = parts;
  const { records, policyHash, holdClosed, explained } = parts.records;
  const admin = new LazyStore<LedgerAdmin>(() => openLedgerAdmin(settings.databaseUrl, true));
  const actions = new LazyStore<OperatorActions>(() => openOperatorActions(settings.databaseUrl));
  closing.addWithTimeout(async () => {
    await Promise.all([admin.close(), actions.close()]);
  });
  const sources: DashboardSources = {
    ...time,
    ...{ notices, records, policyHash, holdClosed, explained, ledger, configStatus },
    installation: { version, nodeId, demo: settings.upstream.kind === "demo", command },
    config: () => configuration.current(),
    files: settings,
    admin: () => admin.opened(),
    health: health.registry,
    overrides: health.overrides,
    actions: () => actions.opened(),
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
