import type { Model } from "#domain/model.ts";
import { taskKeyOf } from "#pipeline/assess/task/task-memory.ts";
import type { Ports } from "#pipeline/ports.ts";
import type { RequestContext, RoutedDecision } from "#pipeline/request-context.ts";
import type { Head } from "./reply.ts";

/** The head with the model that answers; the record and the memories of conversations and tasks get it too. */
export function answeredBy(
  model: Model,
  routed: RoutedDecision,
  head: Head,
  context: RequestContext,
  firstTokenMs: number,
  ports: Ports,
): Head {
  const { recorder, request, assessment } = context;
  recorder.recordAnswer(model.key, firstTokenMs);
  // The model that was chosen, by the scout too; fail-over of one request does not change it.
  const routedTo = routed.decision.model;
  if (routedTo !== null && assessment.housekeeping === undefined) {
    const remembered = { model: routedTo, atMs: ports.clock.now() };
    ports.conversations.remember(assessment.conversationKey, remembered, request.receivedAtMs);
  }
  const task = taskKeyOf(request.routing);
  // A failure that the caller reports later counts against the tier that answered.
  if (task !== undefined) ports.tasks.served(task, model, ports.clock.now());
  return {
    decisionId: head.decisionId,
    decision: head.decision,
    taskKind: head.taskKind,
    answeredBy: model.key,
    redactions: head.redactions,
    explained: head.explained,
  };
}
