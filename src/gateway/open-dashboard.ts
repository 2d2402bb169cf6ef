import { readConfigFile, readText } from "#config/config-file.ts";
import type { LiveConfig } from "#config/live-config.ts";
import { loadConfig } from "#config/load-config.ts";
import { checkPolicyText } from "#config/load-policy.ts";
import type { Policy } from "#config/policy.ts";
import type { Problem } from "#config/problem.ts";
import { type OperatorActions, openOperatorActions } from "#dashboard/audit.ts";
import type { DashboardSources, PolicyFile } from "#dashboard/sources.ts";
import type { LearnedWeights } from "#domain/learned-weights.ts";
import type { Handler } from "#http/endpoint.ts";
import type { ServerConnection } from "#http/server-options.ts";
import type { LedgerAdmin } from "#ledger/admin/ledger-admin.ts";
import { openLedgerAdmin } from "#ledger/admin/open-ledger-admin.ts";
import type { Ledger } from "#ledger/ledger.ts";
import type { KeyUsageWatch } from "#ledger/reconcile/key-usage-watch.ts";
import type { PriceBookReader } from "#models/price-book/price-book-reader.ts";
import type { Configuration } from "#pipeline/ports.ts";
import { nextLargeTask } from "#platform/event-loop.ts";
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
    policyFile: policyFileOf(context),
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
    async backtest(policy, range, onProgress, signal) {
      const { backtest } = await import("#records/backtest/backtest.ts");
      const current = configuration.current();
      return backtest({
        ...{ policy, onProgress, signal },
        registry: current.registry,
        learned: weightsFor(policy, current),
        records: inSteps(records.export(range)),
        configuration: (hash) => records.configuration(hash),
      });
    },
  };
  const { dashboardToken: token, allowedHosts } = settings;
  return (connection) =>
    loadedOnFirstRequest(async () => {
      const { dashboardHandler } = await import("#dashboard/dashboard.ts");
      return dashboardHandler({ sources, token, allowedHosts }, connection);
    });
}

function policyFileOf({ settings, configuration }: GatewayContext): PolicyFile {
  const { policyPath: path, registryPath } = settings;
  return {
    path,
    text() {
      if (path === undefined) return undefined;
      const read = readText(path, "ROUTING_POLICY_PATH");
      return read.kind === "ok" ? read.text : undefined; // `problems` says what is wrong with it
    },
    document() {
      if (path === undefined) return undefined;
      const read = readConfigFile(path, "ROUTING_POLICY_PATH");
      return read.kind === "ok" ? read.document : undefined;
    },
    async problems() {
      const loaded = loadConfig({ policyPath: path, registryPath });
      return loaded.kind === "ok" ? [] : loaded.problems;
    },
    async check(text) {
      const current = configuration.current();
      const checked = checkPolicyText(text, current.registry);
      if (checked.kind === "invalid" || checked.policy.routing.learned.weights_file === "") return checked;
      return weightsFor(checked.policy, current) === undefined
        ? { kind: "invalid", problems: [otherWeights] }
        : checked;
    },
  };
}

/** Records that are replayed at once: that takes some milliseconds, and other requests are served in between. */
const recordsPerTick = 32;

async function* inSteps<T>(batches: AsyncIterable<readonly T[]>): AsyncIterable<readonly T[]> {
  for await (const batch of batches) {
    for (let at = 0; at < batch.length; at += recordsPerTick) {
      yield batch.slice(at, at + recordsPerTick);
      await nextLargeTask();
    }
  }
}

/** The weights in force, where the policy names the same file. */
function weightsFor({ routing }: Policy, { policy: inForce, learned }: Configuration): LearnedWeights | undefined {
  return routing.learned.weights_file === inForce.routing.learned.weights_file ? learned : undefined;
}

/** The page would otherwise read any file of the machine. */
const otherWeights: Problem = {
  file: "edited policy",
  path: "routing.learned.weights_file",
  message: "names another file than the policy in force, and this page reads no other",
  suggestion: "try it with: smart-gateway policy backtest FILE",
};

function loadedOnFirstRequest(load: () => Promise<Handler>): Handler {
  let loading: Promise<Handler> | undefined;
  return async (request, requestId, common) => {
    loading ??= load();
    return (await loading)(request, requestId, common);
  };
}
