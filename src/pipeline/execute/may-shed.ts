import type { Model, Role } from "#domain/model.ts";
import type { RequestContext } from "#pipeline/request-context.ts";

/** Which tier a role belongs to: free, flash, pro. The emergency model is the fallback of the senior one and costs about as much. */
const tierOf: { readonly [R in Role]: number } = { scout: 0, worker: 1, senior: 2, emergency: 2 };

/**
 * Whether a DEGRADED model may pass this request to the next model of the chain. Down or sideways it always may; up a tier
 * costs more and is what the policy's `health.shed_upwards` decides. Fail-over after a failed attempt is not limited.
 */
export function mayShed(from: Model | undefined, to: Model, context: RequestContext): boolean {
  if (from === undefined || tierOf[to.role] <= tierOf[from.role]) return true;
  switch (context.configuration.policy.health.shed_upwards) {
    case "always":
      return true;
    case "never":
      return false;
    case "not_housekeeping":
      return context.assessment.housekeeping === undefined;
  }
}
