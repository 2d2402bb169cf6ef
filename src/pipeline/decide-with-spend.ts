import type { ModelKey } from "#domain/model.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import type { Spend } from "#ledger/ledger.ts";
import type { Assessment } from "#pipeline/assess/assess.ts";
import { decide } from "#pipeline/decide/decide.ts";
import type { Affinity } from "#pipeline/decide/rules/affinity.ts";
import type { Snapshot } from "#pipeline/decide/snapshot.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";
import type { RequestContext } from "./handle-chat.ts";
import type { Ports } from "./ports.ts";
import { type RetryAdvice, retryAdviceFor } from "./retry-advice.ts";
import { takeSnapshot } from "./take-snapshot.ts";

/** A decision, and what it was made from: fail-over asks the same snapshot. */
export interface RoutedDecision {
  readonly decision: RoutingDecision;
  readonly snapshot: Snapshot;
}

export type Decided = RoutedDecision & {
  readonly kind: "decided" | "store_unavailable";
  /** For refusals: whether waiting can mend it, and when to ask again. */
  readonly wait?: RetryAdvice;
};

/**
 * Decides with what the books say was spent and is held. What this node saw last is asked first, because it costs nothing;
 * a refusal for want of budget is only believed after the store itself was asked, so that nobody is refused by a stale view.
 */
export function decideWithSpend(
  context: RequestContext,
  ports: Ports,
  verdict?: NonNullable<Snapshot["verdict"]>,
): Decided | Promise<Decided> {
  const { assessment, configuration } = context;
  const goal = assessment.task.goal_id;
  const affinity = affinityOf(assessment, ports);
  const decideWith = (spend: Spend | undefined): RoutedDecision => {
    const base = takeSnapshot(configuration, ports.health.view(), assessment.size, spend);
    const { evidence, scale } = assessment;
    const snapshot = {
      ...base,
      scale,
      ...(evidence.length === 0 ? {} : { runEvidence: evidence }),
      ...(affinity === undefined ? {} : { affinity }),
      ...(verdict === undefined ? {} : { verdict }),
    };
    return { decision: decide(assessment.task, assessment.runtime, snapshot), snapshot };
  };

  const seen = ports.ledger.peek(goal);
  if (seen !== undefined) {
    const routed = decideWith(seen);
    if (routed.decision.cause !== "budget_hard_cap_exceeded") return decided(routed, ports);
  }
  return ports.ledger.read(goal).then(async (spend) => {
    const routed = decideWith(spend);
    // Refusals that have nothing to do with money stand; anything else would spend what nobody can count.
    if (spend === undefined) {
      const stands = seen === undefined && routed.decision.model === null;
      return { kind: stands ? "decided" : "store_unavailable", ...routed };
    }
    if (routed.decision.cause !== "budget_hard_cap_exceeded") return decided(routed, ports);
    const fits = (later: Spend) => decideWith(later).decision.cause !== "budget_hard_cap_exceeded";
    return { kind: "decided", ...routed, wait: await retryAdviceFor(goal, spend, fits, ports.ledger) };
  });
}

/** Which model has the conversation in its cache; undefined for a call that is no part of it. */
function affinityOf({ housekeeping, conversationKey, continuation }: Assessment, ports: Ports): Affinity | undefined {
  if (housekeeping !== undefined) return undefined;
  const known = ports.conversations.recall(conversationKey, ports.clock.now());
  return known === undefined ? undefined : { model: known.model, continuation };
}

function decided(routed: RoutedDecision, ports: Ports): Decided {
  if (routed.decision.cause !== "all_models_unhealthy") return { kind: "decided", ...routed };
  const retryAfterS = retryAfterOf(routed, routed.snapshot.health, ports.clock.now());
  return { kind: "decided", ...routed, wait: { shouldRetry: true, retryAfterS } };
}

/** Without anything known of when a model is due. */
const usualWaitMs = 60_000;

/**
 * Seconds until the first model is due of those that may answer and cannot now; a minute where nobody knows. At least one,
 * at most `health.limited_max_ms`.
 */
export function retryAfterOf(routed: RoutedDecision, health: Snapshot["health"], nowMs: number): number {
  const due = candidatesOf(routed).flatMap((key) => {
    const { routable, retryAtMs } = health[key] ?? { routable: true };
    return routable || retryAtMs === undefined ? [] : [retryAtMs - nowMs];
  });
  return wholeSeconds(due.length === 0 ? usualWaitMs : Math.min(...due), routed);
}

/**
 * Seconds after which a request that every attempt has failed may be asked again: when the first of its models is due, if
 * none of them can serve now; else what the upstream asked for, or the usual pause of a rate limit. At least one, at most
 * `health.limited_max_ms`.
 */
export function retryAfterFailure(
  routed: RoutedDecision,
  failure: UpstreamFailure,
  health: Snapshot["health"],
  nowMs: number,
): number {
  const one = candidatesOf(routed).some((key) => health[key]?.routable ?? true);
  if (!one) return retryAfterOf(routed, health, nowMs);
  const usualMs = failure.kind === "rate_limited" ? routed.snapshot.policy.health.limited_default_ms : 0;
  return wholeSeconds(failure.retryAfterMs ?? usualMs, routed);
}

/** The models that may answer a request: its own and those that may take its place. */
function candidatesOf({ decision, snapshot }: RoutedDecision): ModelKey[] {
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
