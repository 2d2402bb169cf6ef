import type { JsonObject } from "#domain/chat.ts";
import type { Model, Role } from "#domain/model.ts";
import type { EvidenceSource } from "#health/health.ts";
import { outputBoundOf } from "#pipeline/decide/select/budget.ts";
import { fallbacksFor } from "#pipeline/decide/select/select-model.ts";
import type { Ports } from "#pipeline/ports.ts";
import type { RequestContext, RoutedDecision } from "#pipeline/request-context.ts";
import type { RequestSize } from "#pipeline/request-size.ts";
import type { AttemptRecord } from "#records/record.ts";
import { evidenceSource } from "./evidence-source.ts";
import { forwardedBody, priceLimitOf, toolTurnRule } from "./forwarded-body.ts";

/** What is to be executed: the models to try in order, and how to make the call for each. */
export interface ExecutionPlan {
  readonly context: RequestContext;
  /** `SCOUT`: the body is a question of ours, and nothing of the caller's request but its context counts. */
  readonly purpose: AttemptRecord["purpose"];
  /** The models in the order in which they are tried, by index from 0; undefined after the last. */
  candidate(index: number): Model | undefined;
  bodyFor(model: Model): JsonObject;
  /** What the hold of each attempt is made of. */
  readonly size: RequestSize;
  /** Whose evidence the answers are. */
  readonly source: EvidenceSource;
  /** Number of the first attempt; unique within the decision together with those that follow. */
  readonly firstAttempt: number;
  readonly maxAttempts: number;
  /** Monotonic milliseconds at which the request must have ended. */
  readonly deadlineMs: number;
}

/**
 * The plan for a routed request: its model, then the fallback chain.
 * @param firstAttempt 1, or 2 where 1 was the scout's: both belong to one decision in the ledger
 */
export function requestPlan(
  context: RequestContext,
  { decision, snapshot }: RoutedDecision,
  ports: Ports,
  firstAttempt: number,
): ExecutionPlan {
  const { request, configuration, redacted, assessment, deadlineMs } = context;
  const { size } = assessment;
  const { models } = configuration.registry;
  const selected = decision.model ?? "";
  const first = models.get(selected);
  const listChain = () =>
    [selected, ...fallbacksFor(selected, decision.hard_rule, snapshot)].flatMap((key) => models.get(key) ?? []);
  /** Most requests need no fallback, so the models are listed when one is asked for. */
  let chain: readonly Model[] | undefined;
  if (ports.health.shed(selected)) {
    // A degraded model sheds a share of its requests: the first fallback is then tried before it.
    chain = listChain();
    const [, next, ...others] = chain;
    if (first !== undefined && next !== undefined && mayShed(first, next, context)) chain = [next, ...others, first];
  }
  return {
    context,
    purpose: "EXECUTE",
    source: evidenceSource(context),
    size,
    firstAttempt,
    maxAttempts: configuration.policy.upstream.max_attempts,
    deadlineMs,
    candidate(index) {
      if (index === 0 && chain === undefined && first !== undefined) return first;
      chain ??= listChain();
      return chain[index];
    },
    bodyFor(model) {
      const priceLimit = priceLimitOf(model, size, configuration);
      const reasoning = toolTurnRule(model, configuration);
      return forwardedBody(request, redacted.body, model, outputBoundOf(model, size), priceLimit, reasoning);
    },
  };
}

/** Which tier a role belongs to: free, flash, pro. The emergency model is the fallback of the senior one and costs about as much. */
const tierOf: { readonly [R in Role]: number } = { scout: 0, worker: 1, senior: 2, emergency: 2 };

/**
 * Whether a DEGRADED model may pass this request to the next model of the chain. Down or sideways it always may; up a
 * tier costs more and is what the policy's `health.shed_upwards` decides. Fail-over after a failed attempt is not
 * limited.
 */
function mayShed(from: Model, to: Model, { configuration, assessment }: RequestContext): boolean {
  if (tierOf[to.role] <= tierOf[from.role]) return true;
  const rule = configuration.policy.health.shed_upwards;
  return rule === "always" || (rule === "not_housekeeping" && assessment.housekeeping === undefined);
}
