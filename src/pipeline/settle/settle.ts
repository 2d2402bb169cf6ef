import type { Model } from "#domain/model.ts";
import type { Ports } from "#pipeline/ports.ts";
import type { RequestContext, RequestRecorder, RoutedDecision } from "#pipeline/request-context.ts";
import { taskKeyOf } from "#pipeline/task/task-memory.ts";
import type { UpstreamFailure, UsageReport } from "#upstream/upstream.ts";
import { type ClosedAttempt, closeAbandoned, closeAnswered, closeFailed, type OpenAttempt } from "./attempt.ts";

/** How an answer ended. */
export type AnswerEnd = {
  /** What the upstream calls the model that answered, if it is another than the one asked. */
  readonly otherModel?: string | undefined;
  readonly report: UsageReport;
} & (
  | { readonly kind: "complete"; readonly empty: boolean }
  | { readonly kind: "broken"; readonly failure: UpstreamFailure }
  | { readonly kind: "caller_gone"; readonly outputBytesSeen: number }
);

/** Closes the attempt behind an answer that has ended: ledger, health and the request's record. */
export function settleAnswer(
  end: AnswerEnd,
  attempt: OpenAttempt,
  firstTokenMs: number,
  recorder: Pick<RequestRecorder, "attempts">,
  ports: Ports,
): void {
  const { report, otherModel } = end;
  const call = { report, otherModel, firstTokenMs, nowMs: ports.clock.monotonic() };
  let closed: ClosedAttempt;
  if (end.kind === "complete") closed = closeAnswered(attempt, { ...call, empty: end.empty });
  else if (end.kind === "broken") closed = closeFailed(attempt, end.failure, call);
  else closed = closeAbandoned(attempt, end.outputBytesSeen, call);
  recorder.attempts.push(closed.record);
  // The caller does not wait for the ledger: it gets resolutions in order, and charges a hold that has none when it expires.
  ports.ledger.resolveInBackground([closed.resolution]);
}

/** How each end of a stream is recorded: its status had gone out before. */
export const streamOutcomes = { complete: "answered", broken: "broken_stream", caller_gone: "caller_gone" } as const;

/** The model that answers becomes known: to the record, and to the memories of conversations and tasks. */
export function recordAnswer(
  model: Model,
  routed: RoutedDecision,
  { recorder, request, assessment }: RequestContext,
  firstTokenMs: number,
  ports: Ports,
): void {
  recorder.recordAnswer(model.key, firstTokenMs);
  // The model that was chosen, by the scout too; fail-over of one request does not change it.
  const routedTo = routed.decision.model;
  if (routedTo !== null && assessment.housekeeping === undefined) {
    ports.conversations.remember(assessment.conversationKey, routedTo, ports.clock.now());
  }
  const task = taskKeyOf(request.routing);
  // A failure that the caller reports later counts against the tier that answered.
  if (task !== undefined) ports.tasks.served(task, model, ports.clock.now());
}
