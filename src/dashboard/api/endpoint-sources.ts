import type { Operator } from "#dashboard/access/access.ts";
import type { OperatorAction } from "#dashboard/audit.ts";
import type { DashboardSources } from "#dashboard/sources.ts";
import { tierOfRole } from "#domain/model.ts";
import { ApiProblem, answering } from "./endpoint.ts";

/** What the endpoints work with: the dashboard's sources, whose stores answer 503 when they cannot be reached. */
export interface EndpointSources extends DashboardSources {
  /** The tier of a model by its key; null where the registry does not have it any more. */
  readonly tierOf: (key: string) => (typeof tierOfRole)[keyof typeof tierOfRole] | null;
  /** Writes into the audit log what an operator has just done. Rejects with an `ApiProblem` when it cannot be written. */
  readonly audit: (operator: Operator, action: Pick<OperatorAction, "action" | "target" | "detail">) => Promise<void>;
}

export function endpointSources(given: DashboardSources): EndpointSources {
  const unreadable = "The decision records cannot be read now. Try again shortly.";
  const { explained } = answering({ explained: given.explained }, unreadable, "records_unavailable");
  return {
    ...given,
    records: answering(given.records, unreadable, "records_unavailable"),
    explained,
    tierOf(key) {
      const model = given.config().registry.models.get(key);
      return model === undefined ? null : tierOfRole[model.role];
    },
    async audit({ name, by }, action) {
      await given.actions.add({ atMs: given.clock.now(), operator: `${name} (${by})`, ...action }).catch(() => {
        throw new ApiProblem(503, "It is done, but could not be written into the audit log.", "audit_unavailable");
      });
    },
  };
}
