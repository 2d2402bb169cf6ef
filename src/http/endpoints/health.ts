import type { ModelKey } from "#domain/model.ts";
import { policyVersion } from "#domain/routing.ts";
import type { HealthView } from "#health/health.ts";
import type { LedgerStatus } from "#ledger/ledger.ts";

export interface HealthReport {
  readonly status: number;
  readonly body: {
    readonly status: "ok" | "degraded" | "unavailable";
    readonly version: string;
    readonly policy_version: string;
    readonly uptime_s: number;
    readonly database: Pick<LedgerStatus, "kind" | "ok" | "failed">;
    /** Decision records; `dropped` since the start. Absent where none are kept. */
    readonly records?: RecordsHealth;
    readonly config: { readonly state: ConfigStatus["state"]; readonly hash: string; readonly loaded_at: string };
    /** Present where several worker processes serve. */
    readonly workers?: WorkerCount;
    readonly models: { readonly [key: string]: ModelReport };
  };
}

export interface WorkerCount {
  readonly wanted: number;
  readonly serving: number;
}

/** Whether the configuration in force is what the files say. A refused file is no reason to take traffic away. */
export interface ConfigStatus {
  readonly state: "current" | "refused";
  /** Milliseconds since the epoch. */
  readonly loadedAtMs: number;
  readonly hash: string;
}

export interface RecordsHealth {
  readonly ok: boolean;
  readonly queued: number;
  readonly dropped: number;
}

interface ModelReport {
  readonly state: string;
  readonly since: string;
  readonly reason: string;
  readonly retry_at?: string;
}

export interface HealthSources {
  readonly view: HealthView;
  /** The policy's `health.senior_fallback_chain`: the models that sensitive requests may use. */
  readonly seniorChain: readonly ModelKey[];
  readonly ledger: LedgerStatus;
  readonly records?: RecordsHealth | undefined;
  readonly config: ConfigStatus;
  readonly version: string;
  readonly uptimeMs: number;
}

/**
 * What `GET /healthz` says: unavailable when money cannot be counted or no model of the senior chain can serve, degraded when
 * one model cannot, or decision records cannot be written. Free models are never in the chain: what only they could serve, no sensitive request can use.
 */
export function healthReport({
  view,
  seniorChain,
  ledger,
  records,
  config,
  version,
  uptimeMs,
}: HealthSources): HealthReport {
  const models = Object.entries(view);
  const serving = seniorChain.some((key) => Object.hasOwn(view, key) && view[key]?.routable === true);
  const troubled = models.some(([, { state, routable }]) => !routable || state === "DEGRADED" || state === "HALF_OPEN");
  const worse = troubled || records?.ok === false;
  const status = !ledger.ok || !serving ? "unavailable" : worse ? "degraded" : "ok";
  return {
    status: status === "unavailable" ? 503 : 200,
    body: {
      status,
      version,
      policy_version: policyVersion,
      uptime_s: Math.floor(uptimeMs / 1_000),
      database: {
        kind: ledger.kind,
        ok: ledger.ok,
        ...(ledger.failed === undefined ? {} : { failed: ledger.failed }),
      },
      ...(records === undefined ? {} : { records }),
      config: { state: config.state, hash: config.hash, loaded_at: new Date(config.loadedAtMs).toISOString() },
      models: Object.fromEntries(
        models.map(([key, { state, sinceMs, reason, retryAtMs }]) => [
          key,
          {
            state,
            since: new Date(sinceMs).toISOString(),
            reason,
            ...(retryAtMs === undefined ? {} : { retry_at: new Date(retryAtMs).toISOString() }),
          },
        ]),
      ),
    },
  };
}

const severity = { ok: 0, degraded: 1, unavailable: 2 };

/**
 * What `GET /healthz` says for several workers, the same whichever is asked: the report of the one that is worst off, because
 * requests reach that one too; degraded at the least while workers are missing. Records are those of all workers. Undefined
 * without any report.
 */
export function worstReport(
  reports: readonly HealthReport[],
  workers: WorkerCount,
  uptimeMs: number,
): HealthReport | undefined {
  const [worst] = reports.toSorted((a, b) => severity[b.body.status] - severity[a.body.status]);
  if (worst === undefined) return undefined;
  const short = worst.body.status === "ok" && workers.serving < workers.wanted;
  const { models, config, records: _, ...body } = worst.body;
  const status = short ? "degraded" : body.status;
  const records = reports.flatMap((report) => report.body.records ?? []);
  return {
    status: worst.status,
    body: {
      ...body,
      status,
      uptime_s: Math.floor(uptimeMs / 1_000),
      ...(records.length === 0 ? {} : { records: recordsOf(records) }),
      config,
      workers,
      models,
    },
  };
}

function recordsOf(workers: readonly RecordsHealth[]): RecordsHealth {
  const sum = (of: (records: RecordsHealth) => number) => workers.reduce((total, each) => total + of(each), 0);
  return {
    ok: workers.every(({ ok }) => ok),
    queued: sum(({ queued }) => queued),
    dropped: sum(({ dropped }) => dropped),
  };
}
