import { type Caps, lowerCap } from "#domain/money/caps.ts";
import { type NanoUsd, usdToNano } from "#domain/money/money.ts";
import type { Policy } from "./schema.ts";

/**
 * The caps of a policy. Rounded down: a cap below one nano-dollar is zero, and nothing may be spent. A soft cap above
 * its hard cap counts as equal to it, so that a file which only lowers a hard cap is a whole policy.
 */
export function capsOf({ budget }: Pick<Policy, "budget">): Caps {
  const goalHard = nano(budget.per_goal_hard_usd);
  const dayHard = nano(budget.per_day_hard_usd);
  return {
    goalSoft: lowerCap(nano(budget.per_goal_soft_usd), goalHard),
    goalHard,
    daySoft: lowerCap(nano(budget.per_day_soft_usd), dayHard),
    dayHard,
  };
}

/** Budgets with each amount that is lower in others. */
export function lowerBudget(budget: Policy["budget"], others: Policy["budget"]): Policy["budget"] {
  return {
    ...budget,
    per_goal_soft_usd: Math.min(budget.per_goal_soft_usd, others.per_goal_soft_usd),
    per_goal_hard_usd: Math.min(budget.per_goal_hard_usd, others.per_goal_hard_usd),
    per_day_soft_usd: Math.min(budget.per_day_soft_usd, others.per_day_soft_usd),
    per_day_hard_usd: Math.min(budget.per_day_hard_usd, others.per_day_hard_usd),
  };
}

function nano(usd: number): NanoUsd {
  const amount = usdToNano(usd, "down");
  // The schema admits 0 to a million dollars, all of which can be held.
  if (amount === undefined) throw new RangeError(`not an amount in USD: ${usd}`);
  return amount;
}
