import { featureVersion } from "#domain/learned-weights.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import { isReported } from "#pipeline/assess/task/runtime.ts";
import { featureVectorOf } from "#pipeline/decide/learned/feature-vector.ts";
import { propensityOf } from "#pipeline/decide/rules/exploration.ts";
import { shippedScoreOf } from "#pipeline/decide/rules/score.ts";
import type { Ports } from "#pipeline/ports.ts";
import type { RequestContext } from "#pipeline/request-context.ts";

/** Hands a request that was routed to flash or pro to the tracker of outcomes; housekeeping teaches nothing. */
export function recordForLearning(context: RequestContext, decision: RoutingDecision, ports: Ports): void {
  const { assessment, configuration, recorder, request } = context;
  const model = configuration.registry.models.get(decision.model ?? "");
  if (assessment.housekeeping !== undefined || (model?.role !== "worker" && model?.role !== "senior")) return;
  const { task, features, conversationKey, continuation } = assessment;
  const tier = model.role === "senior" ? "pro" : "flash";
  ports.outcomes.routed({
    decisionId: recorder.decisionId,
    atMs: request.receivedAtMs,
    conversationKey,
    continuation,
    tier,
    hardRule: decision.hard_rule,
    reportedFailure: isReported(request.routing),
    ask: task.instruction,
    decision: () => ({
      version: featureVersion,
      features: featureVectorOf(task, features),
      kind: task.kind,
      tier,
      model: model.key,
      cause: decision.cause,
      score: shippedScoreOf(decision),
      explored: decision.cause === "exploration",
      probability: propensityOf(decision),
    }),
  });
}
