import type { HealthState } from "./health.ts";
import type { Breaker } from "./state-machine/aggregator-breaker.ts";
import type { Health, HealthRules } from "./state-machine/model-health.ts";

/** What a model's health and the aggregator's breaker mean for sending it traffic, now and later. Pure. */

/** Whether a model in this state is sent whatever comes. */
export function isServing({ state }: { readonly state: HealthState }): boolean {
  return state === "HEALTHY" || state === "DEGRADED" || state === "STALE";
}

export function mayAdopt(own: Health, state: HealthState): boolean {
  return state !== "DISABLED" && !(isServing(own) && isServing({ state }));
}

export function isLeased(health: Health): boolean {
  return health.state === "HALF_OPEN" && health.leaseUntilMs !== null;
}

/** May be sent traffic now, as far as this model is concerned. */
export function isRoutable(health: Health, ms: number): boolean {
  if (health.limitedUntilMs > ms) return false;
  switch (health.state) {
    case "HEALTHY":
    case "DEGRADED":
    case "STALE":
      return true;
    case "UNHEALTHY":
    case "QUARANTINE":
      return health.retryAtMs <= ms;
    case "HALF_OPEN":
      return health.leaseUntilMs === null || health.leaseUntilMs <= ms;
    case "DISABLED":
      return false;
  }
}

export function ownRetryAt(health: Health, ms: number): number | undefined {
  if (health.state === "DISABLED") return undefined;
  const outUntilMs = health.state === "UNHEALTHY" || health.state === "QUARANTINE" ? health.retryAtMs : 0;
  const untilMs = Math.max(outUntilMs, health.limitedUntilMs);
  return untilMs > ms ? untilMs : undefined;
}

/** When the view of a model would change by time alone. */
export function nextChange(health: Health, ms: number, rules: HealthRules): number {
  const times = [health.limitedUntilMs];
  if (health.state === "UNHEALTHY" || health.state === "QUARANTINE") times.push(health.retryAtMs);
  if (health.state === "HALF_OPEN" && health.leaseUntilMs !== null) times.push(health.leaseUntilMs);
  if (health.state === "HEALTHY" || health.state === "DEGRADED")
    times.push(health.lastVerdictMs + rules.stale_after_ms);
  return Math.min(...times.filter((time) => time > ms));
}

export function reasonOf(health: Health, breaker: Breaker | undefined, ms: number): string {
  if (health.state === "DISABLED") return health.reason;
  if (breaker !== undefined && breaker.kind !== "closed") return breaker.reason;
  return health.limitedUntilMs > ms ? "rate limited by the upstream" : health.reason;
}

export function breakerRetryAt(breaker: Breaker): number | undefined {
  if (breaker.kind === "open") return breaker.untilMs;
  return breaker.kind === "half_open" && breaker.leaseUntilMs !== null ? breaker.leaseUntilMs : undefined;
}
