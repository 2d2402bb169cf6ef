import { addHardCapEvidence } from "#pipeline/decide/select/budget.ts";
import type { Execution } from "#pipeline/execute/execute.ts";
import type { Ports } from "#pipeline/ports.ts";
import type { RequestContext, RoutedDecision } from "#pipeline/request-context.ts";
import { retryAfterFailure, retryAfterOf } from "#pipeline/retry-advice.ts";
import { findingsIn } from "#privacy/redaction.ts";
import { callerGone, deniedByLedger, failedUpstream, noCapacity, refusalOf, storeUnavailable } from "./refusals.ts";
import type { Head, Refusal } from "./reply.ts";

/** An execution that brought no answer. */
export type FailedExecution = Exclude<Execution, { kind: "answered" | "streaming" }>;

/** The refusal for an execution that brought no answer; finishes the request's record. */
export function refusalOfExecution(
  execution: FailedExecution,
  context: RequestContext,
  routed: RoutedDecision,
  head: Head,
  ports: Ports,
): Refusal {
  const { recorder } = context;
  switch (execution.kind) {
    case "refused": {
      // Other requests took the rest of the budget between the decision and the reservation: the decision becomes a denial.
      const { reply, model, retryAdvice } = execution;
      const evidence: string[] = [];
      const spend = { goal: reply.spend.goalAccount, day: reply.spend.dayAccount };
      addHardCapEvidence(model, { ...routed.snapshot, spend }, evidence);
      const decision = deniedByLedger(head.decision, reply, evidence);
      recorder.recordDecision(decision, findingsIn(context.redacted));
      recorder.recordLedgerRefusal(decision, spend);
      recorder.finish("refused", 403, decision.cause);
      return refusalOf({ ...head, decision }, retryAdvice);
    }
    case "unavailable":
      recorder.finish("failed", 503, "budget_store_unavailable");
      return storeUnavailable(head, ports.ledger.status());
    case "no_capacity":
      recorder.finish("failed", 503, "no_capacity");
      return noCapacity(head, retryAfterOf(routed, ports.health.view(), ports.health.now()));
    case "caller_gone":
      recorder.finish("caller_gone", 499, "caller_gone");
      return callerGone(head);
    case "failed": {
      const { failure, model } = execution;
      const retryAfterS = retryAfterFailure(routed, failure, ports.health.view(), ports.health.now());
      const refusal = failedUpstream({ ...head, answeredBy: model }, failure, retryAfterS);
      recorder.finish("failed", refusal.status, refusal.code);
      return refusal;
    }
  }
}
