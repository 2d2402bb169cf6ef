import type { Health } from "#health/state-machine/model-health.ts";
import type { StoredModelHealth } from "./health-store.ts";

/**
 * Health as it was kept, put in the place of `own`. Its epoch follows on the model's own, so that attempts which began
 * before decide nothing. A probe that was out when the process ended is over.
 */
export function restoredHealth(
  kept: StoredModelHealth,
  own: Health,
  nowMs: number,
  when: "restart" | "running",
): Health {
  const { detail } = kept;
  const epoch = own.epoch + 1;
  const common = {
    epoch,
    countsFrom: epoch,
    sinceMs: kept.sinceMs,
    reason: kept.reason,
    lastVerdictMs: detail.lastVerdictMs,
    slices: [],
    failedInARow: 0,
    garbageInARow: detail.garbageInARow,
    notFound: detail.notFound,
    trips: detail.trips,
    tripsAtMs: detail.tripsAtMs,
    quarantines: detail.quarantines,
    limitedUntilMs: Math.max(own.limitedUntilMs, detail.limitedUntilMs),
  };
  switch (kept.state) {
    case "HEALTHY":
    case "STALE":
    case "DISABLED":
      return { ...common, state: kept.state };
    case "DEGRADED": {
      const none = { startMs: nowMs, ok: 0, slow: 0, failed: 0, garbage: 0 };
      const recovery = { good: 0, short: none, long: none };
      const { unproven = false, rampFromMs = null } = detail;
      return { ...common, state: "DEGRADED", unproven, rampFromMs, recovery };
    }
    case "UNHEALTHY":
      return { ...common, state: "UNHEALTHY", retryAtMs: detail.retryAtMs ?? nowMs };
    case "HALF_OPEN": {
      const leaseUntilMs = when === "restart" ? null : (detail.leaseUntilMs ?? null);
      const { passed = 0, urgentRetryAtMs = null } = detail;
      return { ...common, state: "HALF_OPEN", passed, leaseUntilMs, urgentRetryAtMs };
    }
    case "QUARANTINE": {
      const { retryAtMs = nowMs, cause = "flapping" } = detail;
      return { ...common, state: "QUARANTINE", retryAtMs, cause };
    }
  }
}
