import type { LiveConfig } from "#config/live-config.ts";
import { type OperatorActions, openOperatorActions } from "#dashboard/audit.ts";
import type { DashboardSources } from "#dashboard/sources.ts";
import type { Handler } from "#http/endpoint.ts";
import type { ServerConnection } from "#http/server-options.ts";
import type { LedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import { openLedgerAdmin } from "#ledger/admin/open-ledger-admin.ts";
import type { Ledger } from "#ledger/ledger.ts";
import type { KeyUsageWatch } from "#ledger/reconcile/key-usage-watch.ts";
import type { PriceBookReader } from "#models/price-book/price-book-reader.ts";
import { LazyStore } from "#platform/lazy-store.ts";
import pkg from "../../package.json" with { type: "json" };
import type { GatewayRecords } from "./decision-records.ts";
import type { GatewayContext } from "./gateway-context.ts";
import type { OpenHealth } from "./open-parts.ts";

export interface DashboardParts {
  readonly ledger: Ledger;
  readonly records: GatewayRecords;
  readonly health: OpenHealth;
  readonly configStatus: LiveConfig["status"];
  readonly prices: Pick<PriceBookReader, "drifts" | "readMs">;
  /** Absent without an upstream key. */
  readonly keyUsage: KeyUsageWatch | undefined;
}

/** The dashboard over the gateway's parts. Its database connections are opened by the first request that needs them. */
export function openDashboard(
  parts: DashboardParts,
  context: GatewayContext,
): (connection: ServerConnection) => Handler {
  const { settings, configuration, time, notices, closing } = context;
  const { clock, timers } = time;
  const { version } = pkg;
  const { nodeId, command } = settings;
  const { records, policyHash, holdClosed, explained } = parts.records;
  const startedMs = clock.now();
  const admin = new LazyStore<LedgerAdmin>(() => openLedgerAdmin(settings.databaseUrl, true));
  const actions = new LazyStore<OperatorActions>(() => openOperatorActions(settings.databaseUrl));
  closing.addWithTimeout(async () => {
    await Promise.all([admin.close(), actions.close()]);
  });
  const sources: DashboardSources = {
    ...{ clock, timers, notices, records, policyHash, holdClosed, explained },
    installation: { version, nodeId, demo: settings.upstream.kind === "demo", command },
    config: () => configuration.current(),
    configStatus: parts.configStatus,
    files: settings,
    ledger: parts.ledger,
    admin: () => admin.opened(),
    health: parts.health.registry,
    overrides: parts.health.overrides,
    actions: {
      add: async (action) => (await actions.opened()).add(action),
      list: async (limit) => (await actions.opened()).list(limit),
      close: () => actions.close(),
    },
    drifts: () => parts.prices.drifts.map((drift) => ({ ...drift, atMs: parts.prices.readMs ?? startedMs })),
    priceBookReadMs: () => parts.prices.readMs,
    reconciliation: () => parts.keyUsage?.latest,
  };
  const { dashboardToken: token, allowedHosts } = settings;
  return (connection) =>
    loadedOnFirstRequest(async () => {
      const { dashboardHandler } = await import("#dashboard/dashboard.ts");
      return dashboardHandler({ sources, token, allowedHosts }, connection);
    });
}

function loadedOnFirstRequest(load: () => Promise<Handler>): Handler {
  let loading: Promise<Handler> | undefined;
  return async (request, requestId, common) => {
    loading ??= load();
    return (await loading)(request, requestId, common);
  };
}
