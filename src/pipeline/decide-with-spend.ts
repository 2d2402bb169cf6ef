import { cappedLabel } from "#domain/chat.ts";
import type { Spend } from "#ledger/ledger.ts";
import type { Assessment } from "#pipeline/assess/assess.ts";
import { decide } from "#pipeline/decide/decide.ts";
import type { Affinity, Snapshot } from "#pipeline/decide/snapshot.ts";
import type { Ports } from "./ports.ts";
import type { RequestContext, RoutedDecision } from "./request-context.ts";
import { type RetryAdvice, retryAdviceFor, retryAfterOf } from "./retry-advice.ts";
import { snapshotOfAsk } from "./take-snapshot.ts";

export type Decided = RoutedDecision & {
  readonly kind: "decided" | "store_unavailable";
  /** For refusals: whether and when the caller should retry. */
  readonly retryAdvice?: RetryAdvice;
};

/**
 * Decides with the ledger's spent and held amounts. The amounts that this node saw last are used first, because reading
 * them costs nothing; before a refusal for lack of budget the store itself is read, so that stale amounts refuse
 * nobody.
 */
export async function decideWithSpend(
  { assessment, configuration, request }: RequestContext,
  ports: Ports,
  verdict?: NonNullable<Snapshot["verdict"]>,
): Promise<Decided> {
  const { task, runtime } = assessment;
  const { key } = request;
  const goal = task.goal_id;
  const affinity = affinityOf(assessment, ports);
  const decideWith = (spend: Spend | undefined): RoutedDecision => {
    const known = { affinity, verdict, key };
    const snapshot = snapshotOfAsk(assessment, configuration, ports.health.view(), spend, known);
    return { decision: decide(task, runtime, snapshot), snapshot };
  };
  const seen = ports.ledger.peek(goal, cappedLabel(key));
  if (seen !== undefined) {
    const routed = decideWith(seen);
    if (!isOverBudget(routed)) return decided(routed, ports);
  }
  const fits = (later: Spend) => !isOverBudget(decideWith(later));
  const spend = await ports.ledger.read(goal, cappedLabel(key), fits);
  const routed = decideWith(spend);
  // Without the store only refusals that do not depend on spend are valid: nothing may be spent that nobody can count.
  if (spend === undefined) {
    const isRefused = seen === undefined && routed.decision.model === null;
    return { kind: isRefused ? "decided" : "store_unavailable", ...routed };
  }
  if (!isOverBudget(routed)) return decided(routed, ports);
  return { kind: "decided", ...routed, retryAdvice: await retryAdviceFor({ goal, key }, spend, fits, ports.ledger) };
}

function isOverBudget({ decision }: RoutedDecision): boolean {
  return decision.cause === "budget_hard_cap_exceeded";
}

/** Which model has the conversation in its prompt cache; undefined for a call that is no part of a conversation. */
function affinityOf({ housekeeping, conversationKey, continuation }: Assessment, ports: Ports): Affinity | undefined {
  if (housekeeping !== undefined) return undefined;
  const model = ports.conversations.recall(conversationKey, ports.clock.now());
  return model === undefined ? undefined : { model, continuation };
}

function decided(routed: RoutedDecision, ports: Ports): Decided {
  const { decision, snapshot } = routed;
  if (decision.cause !== "all_models_unhealthy") return { kind: "decided", decision, snapshot };
  const retryAfterS = retryAfterOf(routed, ports.health);
  return { kind: "decided", decision, snapshot, retryAdvice: { shouldRetry: true, retryAfterS } };
}
