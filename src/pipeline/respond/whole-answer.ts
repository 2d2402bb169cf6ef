import { otherModel } from "#domain/model-names.ts";
import { execute } from "#pipeline/execute/execute.ts";
import { planExecution } from "#pipeline/execute/plan.ts";
import type { Ports } from "#pipeline/ports.ts";
import type { RequestContext, RoutedDecision } from "#pipeline/request-context.ts";
import { largeBodyBytes, largeWorkTurn } from "#platform/event-loop-turns.ts";
import { answeredBy } from "./answer-head.ts";
import { refusalOfExecution } from "./failed-execution.ts";
import { finishAnswer, finishLargeAnswer, isEmptyAnswer } from "./finish-answer.ts";
import { guardAnswer } from "./guard-answer.ts";
import type { Head, Reply } from "./reply.ts";
import type { Settlement } from "./settlement.ts";
import { restorerOf } from "./text-restorer.ts";

/** Executes a routed request and returns its whole answer, or the refusal that says why there is none. */
export async function answerWhole(
  context: RequestContext,
  routed: RoutedDecision,
  head: Head,
  settlement: Settlement,
  ports: Ports,
): Promise<Reply> {
  const { recorder, caller, redacted, configuration } = context;
  const plan = planExecution(context, routed, settlement, ports);
  const execution = await execute(plan, ports, caller.signal, { committed: false });
  recorder.attempts.push(...execution.attempts);
  // A plan whose `stream` is false has no stream for an answer.
  if (execution.kind === "streaming") throw new Error("unreachable: a whole answer was asked for");
  if (execution.kind !== "answered") return refusalOfExecution(execution, context, routed, head, ports);

  const { attempt, answer, report, firstTokenMs } = execution;
  const isLarge = execution.raw.length > largeBodyBytes;
  if (isLarge) await largeWorkTurn();
  const raw = guardAnswer(answer, execution.raw, configuration.privacy.answerGuard) ? undefined : execution.raw;
  const empty = isEmptyAnswer(answer);
  const other = otherModel(attempt.model.upstreamId, answer.model);
  settlement.settleAnswer(attempt, { report, firstTokenMs, empty, otherModel: other }, context, ports);
  const restorer = restorerOf(redacted);
  const name = other ?? attempt.model.upstreamId;
  const body = isLarge
    ? await finishLargeAnswer(answer, raw, name, restorer)
    : finishAnswer(answer, raw ?? JSON.stringify(answer), name, restorer);
  const answered = answeredBy(attempt.model, routed, head, context, firstTokenMs, ports);
  recorder.finish("answered", 200);
  return { kind: "answer", body, head: answered };
}
