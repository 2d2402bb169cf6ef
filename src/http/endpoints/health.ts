import { policyVersion } from "#domain/routing.ts";
import { type Handler, jsonResponse } from "#http/endpoint.ts";
import type { HealthAnswer } from "#http/openapi/schemas.ts";
import type { HealthReport, ServerOptions } from "#http/server-options.ts";

type Records = NonNullable<HealthAnswer["records"]>;
type HealthSources = Pick<ServerOptions, "ports" | "configStatus" | "records" | "version" | "commit">;

/**
 * What `GET /healthz` says: unavailable when money cannot be counted, the aggregator cannot be reached or no model of
 * the senior chain can serve, degraded when one model cannot, decision records cannot be written, the database has lost
 * commits, or the files say something else than what is in force. Free models are never in the chain: what only they
 * could serve, no sensitive request can use.
 */
export function healthReport(sources: HealthSources, startedMs: number): HealthReport {
  const { ports, version, commit } = sources;
  const view = ports.health.view();
  const ledger = ports.ledger.status();
  const records = sources.records.health();
  const config = sources.configStatus();
  const seniorChain = ports.config().policy.health.senior_fallback_chain;
  const models = Object.entries(view);
  const outage = ports.health.outage();
  const serving =
    outage === undefined && seniorChain.some((key) => Object.hasOwn(view, key) && view[key]?.routable === true);
  const troubled = models.some(([, { state, routable }]) => !routable || state === "DEGRADED" || state === "HALF_OPEN");
  const isWorse = troubled || records?.ok === false || config.reason !== undefined || ledger.lostCommits !== undefined;
  const status = !ledger.ok || !serving ? "unavailable" : isWorse ? "degraded" : "ok";
  return {
    status: status === "unavailable" ? 503 : 200,
    body: {
      status,
      version,
      commit: commit(),
      policy_version: policyVersion,
      uptime_s: Math.floor((ports.clock.monotonic() - startedMs) / 1_000),
      database: {
        kind: ledger.kind,
        ok: ledger.ok,
        failed: ledger.failed,
        lost_commits: ledger.lostCommits && { ...ledger.lostCommits },
      },
      records,
      config: {
        state: config.state,
        reason: config.reason,
        hash: config.hash,
        loaded_at: new Date(config.loadedAtMs).toISOString(),
      },
      aggregator: outage && { since: new Date(outage.sinceMs).toISOString(), reason: outage.reason },
      models: Object.fromEntries(
        models.map(([key, { state, sinceMs, reason, retryAtMs }]) => [
          key,
          { state, since: new Date(sinceMs).toISOString(), reason, retry_at: timeText(retryAtMs) },
        ]),
      ),
    },
  };
}

/** `GET /healthz`: of all workers together, where there are several. */
export function healthEndpoint(
  sources: HealthSources & Pick<ServerOptions, "workers">,
  { startedMs }: { readonly startedMs: number },
): Handler {
  return async (_, { headers }) => {
    const { body, status } = (await sources.workers?.health()) ?? healthReport(sources, startedMs);
    return jsonResponse(body, headers, status);
  };
}

function timeText(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

const severity = { ok: 0, degraded: 1, unavailable: 2 };

/**
 * What `GET /healthz` says for several workers, the same whichever is asked: the report of the one that is worst off,
 * because requests reach that one too; degraded at the least while workers are missing. Records are those of all
 * workers. Undefined without any report.
 */
export function worstReport(
  reports: readonly HealthReport[],
  workers: NonNullable<HealthAnswer["workers"]>,
  uptimeMs: number,
): HealthReport | undefined {
  const [worst] = reports.toSorted((a, b) => severity[b.body.status] - severity[a.body.status]);
  if (worst === undefined) return undefined;
  const short = worst.body.status === "ok" && workers.serving < workers.wanted;
  const { models, config, ...body } = worst.body;
  return {
    status: worst.status,
    body: {
      ...body,
      status: short ? "degraded" : body.status,
      uptime_s: Math.floor(uptimeMs / 1_000),
      records: sumRecords(reports.flatMap((report) => report.body.records ?? [])),
      config,
      workers,
      models,
    },
  };
}

function sumRecords(workers: readonly Records[]): Records | undefined {
  if (workers.length === 0) return undefined;
  return {
    ok: workers.every(({ ok }) => ok),
    queued: workers.reduce((sum, { queued }) => sum + queued, 0),
    dropped: workers.reduce((sum, { dropped }) => sum + dropped, 0),
  };
}
