import type { Model } from "#domain/model.ts";
import type { Policy } from "#policy/schema.ts";
import type { UpstreamCall } from "#upstream/upstream.ts";

/** The timers of one attempt, in milliseconds: the model's own where it has them, and none beyond the request's end. */
export function timeoutsOf(model: Model, policy: Policy, remainingMs: number): UpstreamCall["timeoutsMs"] {
  const rules = policy.upstream.timeouts_ms;
  const own = model.timeoutsMs;
  const firstEvent = own.first_event ?? (model.reasoning ? rules.first_event_reasoning : rules.first_event);
  const left = Math.max(1, Math.floor(remainingMs));
  return {
    connect: Math.min(own.connect ?? rules.connect, left),
    headers: Math.min(own.headers ?? rules.headers, left),
    first_event: Math.min(firstEvent, left),
    idle: own.idle ?? rules.idle,
    idle_data: Math.max(own.idle ?? 0, rules.idle_data),
    total: Math.min(own.total ?? rules.total, left),
  };
}
