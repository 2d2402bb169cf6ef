import type { HealthReport } from "#http/endpoints/health.ts";
import type { MetricSnapshot } from "#telemetry/metrics/merged-metrics.ts";

/** What a worker and its supervisor send each other. Both run the same code, so nobody checks what arrives. */

export interface Snapshots {
  readonly metrics: readonly MetricSnapshot[];
  readonly health: HealthReport;
}
/** What the supervisor makes of the snapshots of all workers. */
export interface Merged {
  /** The Prometheus text exposition. */
  readonly metrics: string;
  readonly health: HealthReport;
}
export type Subject = keyof Snapshots;

export type FromWorker =
  | { readonly kind: "serving" }
  /** A caller has asked for the metrics or health of all workers. */
  | { readonly kind: "ask"; readonly id: number; readonly subject: Subject }
  | {
      readonly kind: "snapshot";
      readonly id: number;
      readonly subject: "metrics";
      readonly value: Snapshots["metrics"];
    }
  | { readonly kind: "snapshot"; readonly id: number; readonly subject: "health"; readonly value: Snapshots["health"] };

export type FromSupervisor =
  | { readonly kind: "collect"; readonly id: number; readonly subject: Subject }
  /** `value` is absent where no worker has answered. */
  | { readonly kind: "answer"; readonly id: number; readonly value?: Merged[Subject] };
