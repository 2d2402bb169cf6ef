import { allowsAttempt, type Breaker } from "./state-machine/aggregator-breaker.ts";
import { type Health, type HealthRules, isServing } from "./state-machine/model-health.ts";

/** What a model's health and the aggregator's breaker mean for sending it traffic, now and later. Pure. */

/** When the model's own pause ends; 0 where it has none. */
function pauseEnd(health: Health): number {
  return health.state === "UNHEALTHY" || health.state === "QUARANTINE" ? health.retryAtMs : 0;
}

/** May be sent traffic now, as far as this model is concerned. */
export function isRoutable(health: Health, ms: number): boolean {
  if (health.state === "DISABLED" || (health.state === "HALF_OPEN" && (health.leaseUntilMs ?? 0) > ms)) return false;
  return Math.max(pauseEnd(health), health.limitedUntilMs) <= ms;
}

/** Out, and may be probed before its pause is over. A price breach comes before being up: the hard cap does. */
export function mayProbeEarly(health: Health, ms: number): boolean {
  const out = health.state === "UNHEALTHY" || (health.state === "QUARANTINE" && health.cause !== "price_breach");
  return out && health.limitedUntilMs <= ms;
}

export function ownRetryAt(health: Health, ms: number): number | undefined {
  const untilMs = Math.max(pauseEnd(health), health.limitedUntilMs);
  return health.state !== "DISABLED" && untilMs > ms ? untilMs : undefined;
}

/** When the view of a model would change by time alone. */
export function nextChange(health: Health, ms: number, rules: HealthRules): number {
  const times = [health.limitedUntilMs, pauseEnd(health)];
  if (health.state === "HALF_OPEN") times.push(health.leaseUntilMs ?? 0);
  if (isServing(health)) times.push(health.lastVerdictMs + rules.stale_after_ms);
  return Math.min(...times.filter((time) => time > ms));
}

export function reasonOf(health: Health, breaker: Breaker, ms: number): string {
  if (health.state === "DISABLED") return health.reason;
  if (breaker.kind !== "closed" && !allowsAttempt(breaker, ms)) return breaker.reason;
  return health.limitedUntilMs > ms ? "rate limited by the upstream" : health.reason;
}
