import { abandonedCost } from "#pipeline/execute/abandoned-cost.ts";
import type { AnsweredCall, ClosedAttempt, OpenAttempt } from "#pipeline/execute/attempt.ts";
import type { Ports } from "#pipeline/ports.ts";
import type { StreamContext } from "#pipeline/request-context.ts";
import type { Settlement } from "#pipeline/respond/settlement.ts";
import type { StreamEnd } from "#pipeline/respond/stream/answer-stream.ts";
import { closeAbandoned, closeAnswered, closeFailed, closeUnsent } from "./close-attempt.ts";

/** The settle step as the steps before it know it. */
export const settlement: Settlement = { closeUnsent, closeAbandoned, closeFailed, settleAnswer, settleStream };

function settleAnswer(
  attempt: OpenAttempt,
  answered: AnsweredCall,
  context: Pick<StreamContext, "recorder">,
  ports: Ports,
): void {
  resolve(closeAnswered(attempt, answered, ports.clock.monotonic()), context, ports);
}

function settleStream(
  end: StreamEnd,
  attempt: OpenAttempt,
  firstTokenMs: number,
  context: StreamContext,
  ports: Ports,
): void {
  const { recorder } = context;
  const { otherModel, report } = end;
  const nowMs = ports.clock.monotonic();
  switch (end.kind) {
    case "complete": {
      const answered = { report, firstTokenMs, empty: end.empty, otherModel };
      resolve(closeAnswered(attempt, answered, nowMs), context, ports);
      recorder.finish("answered", 200);
      return;
    }
    case "broken":
      resolve(closeFailed(attempt, end.failure, report, nowMs, otherModel), context, ports);
      recorder.finish("broken_stream", 200);
      return;
    case "caller_gone": {
      const atLeast = abandonedCost(attempt.price, attempt.hold, end.outputBytesSeen, context);
      resolve(closeAbandoned(attempt, report, atLeast, nowMs, otherModel), context, ports);
      recorder.finish("caller_gone", 200);
      return;
    }
  }
}

function resolve(closed: ClosedAttempt, { recorder }: Pick<StreamContext, "recorder">, ports: Ports): void {
  recorder.attempts.push(closed.record);
  // The caller does not wait for the ledger: it gets resolutions in order, and charges a hold that has none when it expires.
  ports.ledger.resolveInBackground([closed.resolution]);
}
