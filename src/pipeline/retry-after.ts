import type { ModelKey } from "#domain/model.ts";
import type { Snapshot } from "#pipeline/decide/snapshot.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";
import type { RoutedDecision } from "./request-context.ts";

/** Used when no model's retry time is known. */
const defaultRetryAfterMs = 60_000;

/**
 * Seconds until the first unavailable model that may answer the request can be tried again; a minute when no time is
 * known. At least one, at most `health.limited_max_ms`.
 */
export function retryAfterOf(routed: RoutedDecision, health: Snapshot["health"], nowMs: number): number {
  const due = eligibleModels(routed).flatMap((key) => {
    const { routable, retryAtMs } = health[key] ?? { routable: true };
    return routable || retryAtMs === undefined ? [] : [retryAtMs - nowMs];
  });
  return wholeSeconds(due.length === 0 ? defaultRetryAfterMs : Math.min(...due), routed);
}

/**
 * Seconds after which a request whose attempts have all failed may be repeated: until the first of its models can be
 * tried again if all are unavailable; else what the upstream asked for, or the default pause of a rate limit. At least
 * one, at most `health.limited_max_ms`.
 */
export function retryAfterFailure(
  routed: RoutedDecision,
  failure: UpstreamFailure,
  health: Snapshot["health"],
  nowMs: number,
): number {
  const anyAvailable = eligibleModels(routed).some((key) => health[key]?.routable ?? true);
  if (!anyAvailable) return retryAfterOf(routed, health, nowMs);
  const defaultMs = failure.kind === "rate_limited" ? routed.snapshot.policy.health.limited_default_ms : 0;
  return wholeSeconds(failure.retryAfterMs ?? defaultMs, routed);
}

/** The models that may answer a request: the decision's and its fallbacks. */
function eligibleModels({ decision, snapshot }: RoutedDecision): ModelKey[] {
  const { registry, policy } = snapshot;
  return [...new Set([decision.model ?? "", ...policy.health.senior_fallback_chain])].filter((key) => {
    const model = registry.models.get(key);
    if (model === undefined || !model.enabled || (model.free && key !== decision.model)) return false;
    return !decision.hard_rule || key === decision.model || model.role === "senior" || model.role === "emergency";
  });
}

function wholeSeconds(waitMs: number, { snapshot }: RoutedDecision): number {
  return Math.max(1, Math.ceil(Math.min(waitMs, snapshot.policy.health.limited_max_ms) / 1_000));
}
