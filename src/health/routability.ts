import type { HealthState } from "./health.ts";
import { allowsAttempt, type Breaker } from "./state-machine/aggregator-breaker.ts";
import type { Health, HealthRules } from "./state-machine/model-health.ts";

/** What a model's health and the aggregator's breaker mean for sending it traffic, now and later. Pure. */

/** Whether a model in this state is sent whatever comes. */
export function isServing({ state }: { readonly state: HealthState }): boolean {
  return state === "HEALTHY" || state === "DEGRADED" || state === "STALE";
}

export function mayAdopt(own: Health, state: HealthState): boolean {
  return state !== "DISABLED" && !(isServing(own) && isServing({ state }));
}

/** May be sent traffic now, as far as this model is concerned. */
export function isRoutable(health: Health, ms: number): boolean {
  if (health.limitedUntilMs > ms) return false;
  if (health.state === "UNHEALTHY" || health.state === "QUARANTINE") return health.retryAtMs <= ms;
  if (health.state === "HALF_OPEN") return (health.leaseUntilMs ?? 0) <= ms;
  return isServing(health);
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

export function reasonOf(health: Health, breaker: Breaker, ms: number): string {
  if (health.state === "DISABLED") return health.reason;
  if (!allowsAttempt(breaker, ms)) return (breaker as Exclude<Breaker, { kind: "closed" }>).reason;
  return health.limitedUntilMs > ms ? "rate limited by the upstream" : health.reason;
}
