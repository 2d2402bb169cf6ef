import type { Operator } from "#dashboard/access/access.ts";
import { ApiProblem } from "#dashboard/api/handlers.ts";
import type { DashboardSources } from "#dashboard/sources.ts";
import type { OperatorAction } from "./operator-actions.ts";

/** Writes into the audit log what an operator has just done. Rejects with an `ApiProblem` when it cannot be written. */
export async function audited(
  { actions, clock }: Pick<DashboardSources, "actions" | "clock">,
  operator: Operator,
  action: Pick<OperatorAction, "action" | "target" | "detail">,
): Promise<void> {
  try {
    await actions.add({ atMs: clock.now(), operator: `${operator.name} (${operator.by})`, ...action });
  } catch {
    throw new ApiProblem(503, "It is done, but could not be written into the audit log.", "audit_unavailable");
  }
}
