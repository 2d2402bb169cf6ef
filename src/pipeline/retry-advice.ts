import { type CallerKey, cappedLabel } from "#domain/chat.ts";
import { type NanoUsd, nanoUsd } from "#domain/money/money.ts";
import { type HealthRegistry, limitedDefaultMs, limitedMaxMs } from "#health/health.ts";
import type { AccountSpend, GoalId, Ledger, Spend, UnresolvedHold } from "#ledger/ledger.ts";
import type { RoutedDecision } from "#pipeline/request-context.ts";
import type { UpstreamFailure } from "#upstream/upstream.ts";

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
 * Money that is held by running calls is given back where they do not use it, so waiting for them can help. Holds of
 * calls with an unknown outcome are charged in full when they end: waiting for them helps only if their cost becomes
 * known before, so callers get `shouldRetry: false`, and the time when the last blocking hold will have ended.
 */
export async function retryAdviceFor(
  { goal, key }: { readonly goal: GoalId; readonly key?: CallerKey | undefined },
  spend: Spend,
  fits: (spend: Spend) => boolean,
  ledger: Pick<Ledger, "heldMoney">,
): Promise<RetryAdvice> {
  if (!fits(withAtMostHeld(spend, sumsOf([])))) return { shouldRetry: false };
  const money = await ledger.heldMoney(goal, cappedLabel(key));
  if (money === undefined) return unknownWait;
  const { unresolved, typicalHoldMs } = money;
  const blocking = sumsOf(unresolved);
  if (fits(withAtMostHeld(spend, blocking))) return { shouldRetry: true, retryAfterS: secondsOf(typicalHoldMs) };
  const lost = sumsOf(unresolved.filter(({ asked }) => !asked));
  if (fits(withAtMostHeld(spend, lost))) return { shouldRetry: true, retryAfterS: askedWaitS };
  const { goalAccount, dayAccount, keyAccount } = withAtMostHeld(spend, blocking);
  const amount = nanoUsd(Math.max(goalAccount.held, dayAccount.held, keyAccount?.held ?? 0));
  // Those that end first are at the head: how many of them have to end before there can be room?
  for (const hold of unresolved) {
    for (const account of accounts) if (hold[account]) blocking[account] -= hold.amount;
    if (!fits(withAtMostHeld(spend, blocking))) continue;
    return { shouldRetry: false, retryAfterS: secondsOf(hold.endsInMs), unresolved: amount };
  }
  return { shouldRetry: false, unresolved: amount };
}

const accounts = ["goal", "day", "key"] as const;
type Sums = Record<(typeof accounts)[number], number>;

function sumsOf(holds: readonly UnresolvedHold[]): Sums {
  const sums = { goal: 0, day: 0, key: 0 };
  for (const hold of holds) for (const account of accounts) if (hold[account]) sums[account] += hold.amount;
  return sums;
}

/** The store was asked about both at different moments: no more is unresolved than is held. */
function withAtMostHeld(spend: Spend, { goal, day, key }: Sums): Spend {
  const bounded = ({ spent, held }: AccountSpend, most: number) => ({ spent, held: nanoUsd(Math.min(held, most)) });
  const { goalAccount, dayAccount, keyAccount } = spend;
  return {
    ...spend,
    goalAccount: bounded(goalAccount, goal),
    dayAccount: bounded(dayAccount, day),
    ...(keyAccount && { keyAccount: bounded(keyAccount, key) }),
  };
}

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}

/** Used when no model's retry time is known. */
const defaultRetryAfterMs = 60_000;

/**
 * Seconds until the aggregator, or a model that may answer the request, can be tried again; a minute if none is known.
 * After a `failure` with a model available: what the upstream asked for, or the default pause of a rate limit. At least
 * one, at most the longest pause of a rate limit.
 */
export function retryAfterOf(
  { decision, snapshot }: RoutedDecision,
  registry: Pick<HealthRegistry, "view" | "now" | "outage">,
  failure?: UpstreamFailure,
): number {
  const { models } = snapshot.registry;
  const { senior_fallback_chain } = snapshot.policy.health;
  const [health, nowMs, outage] = [registry.view(), registry.now(), registry.outage()];
  // The models that may answer it: the decision's and its fallbacks.
  const eligible = [decision.model ?? "", ...senior_fallback_chain].filter((key) => {
    const model = models.get(key);
    if (model === undefined || !model.enabled || (model.free && key !== decision.model)) return false;
    return !decision.hard_rule || key === decision.model || model.role === "senior" || model.role === "emergency";
  });
  let waitMs: number;
  if (outage !== undefined) waitMs = outage.retryAtMs - nowMs;
  else if (eligible.some((key) => health[key]?.routable ?? true)) {
    waitMs = failure?.retryAfterMs ?? (failure?.kind === "rate_limited" ? limitedDefaultMs : 0);
  } else {
    const due = eligible.flatMap((key) => {
      const { routable, retryAtMs } = health[key] ?? { routable: true };
      return routable || retryAtMs === undefined ? [] : [retryAtMs - nowMs];
    });
    waitMs = due.length === 0 ? defaultRetryAfterMs : Math.min(...due);
  }
  return Math.max(1, Math.ceil(Math.min(waitMs, limitedMaxMs) / 1_000));
}
