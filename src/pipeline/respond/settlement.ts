import type { AttemptCloser, OpenAttempt } from "#pipeline/execute/attempt.ts";
import type { Ports } from "#pipeline/ports.ts";
import type { StreamContext } from "#pipeline/request-context.ts";
import type { UsageReport } from "#upstream/upstream.ts";
import type { StreamEnd } from "./stream/answer-stream.ts";

/** What the upstream's whole answer says about its attempt. */
export interface AnsweredCall {
  readonly report: UsageReport;
  readonly firstTokenMs: number;
  readonly empty: boolean;
  /** What the upstream calls the model that answered, if it is another than the one asked. */
  readonly otherModel?: string | undefined;
}

/** What responding needs of the settle step. Handed in, because that step comes later. */
export interface Settlement extends AttemptCloser {
  /** Closes the attempt that answered: ledger, health and the request's record. */
  settleAnswer(
    attempt: OpenAttempt,
    answered: AnsweredCall,
    context: Pick<StreamContext, "recorder">,
    ports: Ports,
  ): void;
  /** Closes the attempt behind a stream that has ended, and finishes the request's record. */
  settleStream(end: StreamEnd, attempt: OpenAttempt, firstTokenMs: number, context: StreamContext, ports: Ports): void;
}
