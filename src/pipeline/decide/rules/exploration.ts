import type { Role } from "#domain/model.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import type { Choice, Evidence } from "#pipeline/decide/choice.ts";
import { capBeforeSenior } from "#pipeline/decide/select/budget.ts";
import { servesWithoutFallback } from "#pipeline/decide/select/select-model.ts";
import type { Snapshot } from "#pipeline/decide/snapshot.ts";
import { byScore } from "./affinity.ts";

const otherRole: { readonly [R in Role]?: Role } = { worker: "senior", senior: "worker" };

/**
 * Sends a share of tasks, drawn at random at their start, to the other tier than the score has chosen, so that outcomes are
 * known of both. Only where either tier would itself answer: then the probability that is recorded is exact. Nothing is explored
 * where a conversation is known, because its context is cached.
 */
export function withExploration(choice: Choice, freeAllowed: boolean, snapshot: Snapshot, evidence: Evidence): Choice {
  const { draw, affinity, policy, registry } = snapshot;
  const share = policy.routing.exploration;
  if (share === 0 || draw === undefined || affinity !== undefined) return choice;
  if (choice.kind !== "execute" || !byScore.has(choice.cause)) return choice;
  const other = otherRole[choice.role];
  if (other === undefined || capBeforeSenior(snapshot) !== undefined) return choice;
  if (!servesWithoutFallback(registry.byRole[choice.role], freeAllowed, snapshot)) return choice;
  if (!servesWithoutFallback(registry.byRole[other], freeAllowed, snapshot)) return choice;
  evidence.push(`${shareKey}${share}`);
  if (draw >= share) return choice;
  evidence.push(`explored_from=${choice.role === "worker" ? "flash" : "pro"}`);
  return { kind: "execute", role: other, cause: "exploration", firm: false };
}

const shareKey = "exploration=";

/** The probability with which the decision's tier was chosen; 1 where nothing was drawn. */
export function propensityOf({ cause, evidence }: Pick<RoutingDecision, "cause" | "evidence">): number {
  for (const entry of evidence) {
    if (!entry.startsWith(shareKey)) continue;
    const share = Number(entry.slice(shareKey.length));
    return cause === "exploration" ? share : 1 - share;
  }
  return 1;
}
