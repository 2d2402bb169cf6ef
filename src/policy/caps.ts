import { type NanoUsd, usdToNano } from "#domain/money/money.ts";
import type { Policy } from "./schema.ts";

/** The budget caps in force, in nano-USD; a soft cap is never above its hard cap. */
export interface Caps {
  readonly goalSoft: NanoUsd;
  readonly goalHard: NanoUsd;
  readonly daySoft: NanoUsd;
  readonly dayHard: NanoUsd;
}

/**
 * The caps of a policy. Rounded down: a cap below one nano-dollar is zero, and nothing may be spent. A soft cap above
 * its hard cap counts as equal to it, so that a file which only lowers a hard cap is a whole policy.
 */
export function capsOf({ budget }: Pick<Policy, "budget">): Caps {
  const goalHard = nano(budget.per_goal_hard_usd);
  const dayHard = nano(budget.per_day_hard_usd);
  return {
    goalSoft: lower(nano(budget.per_goal_soft_usd), goalHard),
    goalHard,
    daySoft: lower(nano(budget.per_day_soft_usd), dayHard),
    dayHard,
  };
}

function nano(usd: number): NanoUsd {
  const amount = usdToNano(usd, "down");
  // The schema admits 0 to a million dollars, all of which can be held.
  if (amount === undefined) throw new RangeError(`not an amount in USD: ${usd}`);
  return amount;
}

function lower(a: NanoUsd, b: NanoUsd): NanoUsd {
  return a < b ? a : b;
}
