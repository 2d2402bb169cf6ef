import type { ModelKey } from "#domain/model.ts";
import { type NanoUsd, nanoUsd, zeroUsd } from "#domain/money/money.ts";
import type { GoalId, Ledger, Spend } from "#ledger/ledger.ts";
import type { Snapshot } from "#pipeline/decide/snapshot.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";
import type { RoutedDecision } from "./request-context.ts";

/** Whether and when a request refused for lack of budget may be retried. */
export interface RetryAdvice {
  readonly shouldRetry: boolean;
  /** When running calls are likely to have given back enough; or when the unresolved holds that block have ended. */
  readonly retryAfterS?: number;
  /** What blocks and will be charged rather than given back, unless its cost becomes known: nano-USD. */
  readonly unresolved?: NanoUsd;
}

/** By then the aggregator has mostly reported the cost of a call that is looked up. */
const askedWaitS = 15;
/** Where the store cannot say what is held: soon, as most holds are those of running calls. */
const unknownWait: RetryAdvice = { shouldRetry: true, retryAfterS: 2 };

/**
 * Money that is held by running calls is given back where they do not use it, so waiting for them can help. Holds of calls
 * with an unknown outcome are charged in full when they end: waiting for them helps only if their cost becomes known before,
 * so callers get `shouldRetry: false`, and the time when the last blocking hold will have ended.
 */
export async function retryAdviceFor(
  goal: GoalId,
  spend: Spend,
  fits: (spend: Spend) => boolean,
  ledger: Pick<Ledger, "heldMoney">,
): Promise<RetryAdvice> {
  if (!fits(withHeld(spend, zeroUsd, zeroUsd))) return { shouldRetry: false };
  const money = await ledger.heldMoney(goal);
  if (money === undefined) return unknownWait;
  const { unresolved, typicalHoldMs } = money;
  let goalHeld = 0;
  let dayHeld = 0;
  for (const hold of unresolved) {
    if (hold.goal) goalHeld += hold.amount;
    if (hold.day) dayHeld += hold.amount;
  }
  if (fits(atMost(spend, goalHeld, dayHeld))) return { shouldRetry: true, retryAfterS: secondsOf(typicalHoldMs) };
  let goalLost = 0;
  let dayLost = 0;
  for (const hold of unresolved) {
    if (hold.asked) continue;
    if (hold.goal) goalLost += hold.amount;
    if (hold.day) dayLost += hold.amount;
  }
  if (fits(atMost(spend, goalLost, dayLost))) return { shouldRetry: true, retryAfterS: askedWaitS };
  const blocking = nanoUsd(
    Math.max(Math.min(goalHeld, spend.goalAccount.held), Math.min(dayHeld, spend.dayAccount.held)),
  );
  // Those that end first are at the head: how many of them have to end before there can be room?
  for (const hold of unresolved) {
    if (hold.goal) goalHeld -= hold.amount;
    if (hold.day) dayHeld -= hold.amount;
    if (!fits(atMost(spend, goalHeld, dayHeld))) continue;
    return { shouldRetry: false, retryAfterS: secondsOf(hold.endsInMs), unresolved: blocking };
  }
  return { shouldRetry: false, unresolved: blocking };
}

/** The store was asked about both at different moments: no more is unresolved than is held. */
function atMost(spend: Spend, goalHeld: number, dayHeld: number): Spend {
  const { goalAccount, dayAccount } = spend;
  return withHeld(spend, nanoUsd(Math.min(goalHeld, goalAccount.held)), nanoUsd(Math.min(dayHeld, dayAccount.held)));
}

function withHeld(spend: Spend, goal: NanoUsd, day: NanoUsd): Spend {
  return {
    ...spend,
    goalAccount: { ...spend.goalAccount, held: goal },
    dayAccount: { ...spend.dayAccount, held: day },
  };
}

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}

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
