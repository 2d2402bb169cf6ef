import type { CallSettlement, OpenAttempt } from "#pipeline/execute/attempt.ts";
import type { Ports } from "#pipeline/ports.ts";
import type { StreamContext } from "#pipeline/request-context.ts";
import type { StreamEnd } from "./stream/answer-stream.ts";

/** What responding needs of the settle step. Handed in, because that step comes later. */
export interface Settlement extends CallSettlement {
  /** Closes the attempt behind a stream that has ended, and finishes the request's record. */
  settleStream(end: StreamEnd, attempt: OpenAttempt, firstTokenMs: number, context: StreamContext, ports: Ports): void;
}
