import { csrfHeader } from "#dashboard/access/access.ts";
import type { ApiHandler } from "#dashboard/api/handlers.ts";
import type { DashboardSources } from "#dashboard/sources.ts";

/** `GET session`: who is asking, and what this gateway is. */
export function sessionHandler(sources: DashboardSources): ApiHandler<"GET session"> {
  const { clock, installation, ledger, records, configStatus } = sources;
  return ({ operator }) => {
    const { kind, ok, failed = null } = ledger.status();
    const store = records.status();
    return {
      version: installation.version,
      node_id: installation.nodeId,
      demo: installation.demo,
      operator: operator.name,
      signed_in: operator.by === "session",
      csrf_header: csrfHeader,
      now_ms: clock.now(),
      started_ms: installation.startedMs,
      command: installation.command,
      workers: installation.workers,
      config_hash: configStatus().hash,
      store: { kind, ok, failed },
      records: {
        enabled: store.kind !== "off",
        ok: store.ok,
        stored: store.rows ?? null,
        dropped: store.dropped,
      },
    };
  };
}
