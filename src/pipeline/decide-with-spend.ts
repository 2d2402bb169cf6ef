import { cappedLabel } from "#domain/chat.ts";
import type { Spend } from "#ledger/ledger.ts";
import type { Assessment } from "#pipeline/assess/assess.ts";
import { decide } from "#pipeline/decide/decide.ts";
import type { Affinity, Snapshot } from "#pipeline/decide/snapshot.ts";
import type { Ports } from "./ports.ts";
import type { RequestContext, RoutedDecision } from "./request-context.ts";
import { type RetryAdvice, retryAdviceFor, retryAfterOf } from "./retry-advice.ts";
import { type OfConversation, snapshotOfAsk } from "./take-snapshot.ts";

export type Decided = RoutedDecision & {
  readonly kind: "decided" | "store_unavailable";
  /** For refusals: whether and when the caller should retry. */
  readonly retryAdvice?: RetryAdvice;
};

/**
 * Decides with the ledger's spent and held amounts. The amounts that this node saw last are used first, because reading
 * them costs nothing; before a refusal for lack of budget the store itself is read, so that stale amounts refuse nobody.
 */
export function decideWithSpend(
  context: RequestContext,
  ports: Ports,
  verdict?: NonNullable<Snapshot["verdict"]>,
): Decided | Promise<Decided> {
  const { assessment, configuration, request } = context;
  const { key } = request;
  const goal = assessment.task.goal_id;
  const affinity = affinityOf(assessment, ports);
  const draw = drawFor(context, ports);
  const inputs: Inputs = { assessment, configuration, known: { affinity, draw, verdict, key } };
  const seen = ports.ledger.peek(goal, cappedLabel(key));
  if (seen !== undefined) {
    const routed = decideWith(seen, inputs, ports);
    if (routed.decision.cause !== "budget_hard_cap_exceeded") return decided(routed, ports);
  }
  return decideWithReadSpend(seen !== undefined, inputs, ports);
}

/** What a decision is made of beside the spend. */
interface Inputs extends Pick<RequestContext, "assessment" | "configuration"> {
  readonly known: OfConversation;
}

function decideWith(
  spend: Spend | undefined,
  { assessment, configuration, known }: Inputs,
  ports: Ports,
): RoutedDecision {
  const snapshot = snapshotOfAsk(assessment, configuration, ports.health.view(), spend, known);
  return { decision: decide(assessment.task, assessment.runtime, snapshot), snapshot };
}

/** @param wasSeen whether the amounts that this node saw last refuse the request */
async function decideWithReadSpend(wasSeen: boolean, inputs: Inputs, ports: Ports): Promise<Decided> {
  const goal = inputs.assessment.task.goal_id;
  const { key } = inputs.known;
  const spend = await ports.ledger.read(goal, cappedLabel(key));
  const routed = decideWith(spend, inputs, ports);
  // Without the store only refusals that do not depend on spend are valid: nothing may be spent that nobody can count.
  if (spend === undefined) {
    const refused = !wasSeen && routed.decision.model === null;
    return { kind: refused ? "decided" : "store_unavailable", ...routed };
  }
  if (routed.decision.cause !== "budget_hard_cap_exceeded") return decided(routed, ports);
  const fits = (later: Spend) => decideWith(later, inputs, ports).decision.cause !== "budget_hard_cap_exceeded";
  return { kind: "decided", ...routed, retryAdvice: await retryAdviceFor({ goal, key }, spend, fits, ports.ledger) };
}

/** Which model has the conversation in its prompt cache; undefined for a call that is no part of a conversation. */
function affinityOf({ housekeeping, conversationKey, continuation }: Assessment, ports: Ports): Affinity | undefined {
  if (housekeeping !== undefined) return undefined;
  const model = ports.conversations.recall(conversationKey, ports.clock.now());
  return model === undefined ? undefined : { model, continuation };
}

/** A random number for exploration, where the policy wants it and a task may begin. */
function drawFor({ assessment, configuration }: RequestContext, ports: Ports): number | undefined {
  if (configuration.policy.routing.exploration === 0) return undefined;
  return assessment.continuation || assessment.housekeeping !== undefined ? undefined : ports.random();
}

function decided(routed: RoutedDecision, ports: Ports): Decided {
  const { decision, snapshot } = routed;
  if (decision.cause !== "all_models_unhealthy") return { kind: "decided", decision, snapshot };
  const retryAfterS = retryAfterOf(routed, snapshot.health, ports.health.now());
  return { kind: "decided", decision, snapshot, retryAdvice: { shouldRetry: true, retryAfterS } };
}
