import type { Model, ModelRegistry, Price } from "#domain/model.ts";
import type { NanoUsd } from "#domain/money/money.ts";
import type { Permit } from "#health/health.ts";
import type { Resolution } from "#ledger/ledger.ts";
import type { Ports } from "#pipeline/ports.ts";
import type { StreamContext } from "#pipeline/request-context.ts";
import type { AttemptRecord } from "#records/record.ts";
import type { UpstreamFailure, UsageReport } from "#upstream/upstream.ts";

/** One call to the upstream, from the reservation of its hold until the ledger has its resolution. */
export interface OpenAttempt {
  readonly id: string;
  readonly model: Model;
  readonly purpose: AttemptRecord["purpose"];
  readonly hold: NanoUsd;
  /** The prices that the hold was computed with; token counts are settled at the same. */
  readonly price: Price;
  /** With our prices of other models, for an answer that another one has written. */
  readonly registry: ModelRegistry;
  /** Whether the prices were sent with the call as the most it may cost, and nothing else narrowed the choice of hosts. */
  readonly priceLimited: boolean;
  /** A stated cost above this multiple of the hold is not believed (`budget.absurd_cost_factor`). */
  readonly absurdCostFactor: number;
  readonly permit: Permit;
  /** The caller's fields change the price, so our prices do not bound the cost: only a stated cost is believed. */
  readonly pricedByCost: boolean;
  /** Monotonic milliseconds. */
  readonly startedMs: number;
  /** Monotonic milliseconds at which the hold was reserved and the call goes out; absent before. */
  dispatchedMs?: number;
  /** The UTC day on which the ledger counts it; absent before it has answered. */
  day?: string;
  /** The moment of `startedMs` in milliseconds since the epoch: prices can depend on the hour. */
  readonly startedAtMs: number;
}

/** How an attempt ended: its resolution for the ledger and its entry in the record. Health has its verdict already. */
export interface ClosedAttempt {
  readonly resolution: Resolution;
  readonly record: AttemptRecord;
}

/** Closes attempts that brought no answer. Implemented by the settle step and handed in, because that step comes later. */
export interface AttemptCloser {
  /** The caller disconnected after the hold was reserved and before anything was sent. */
  closeUnsent(attempt: OpenAttempt, nowMs: number): ClosedAttempt;
  /** The caller disconnected after the call was sent. `atLeast`: what a cancelled call is billed, where that is known. */
  closeAbandoned(attempt: OpenAttempt, report: UsageReport, atLeast: NanoUsd | undefined, nowMs: number): ClosedAttempt;
  closeFailed(attempt: OpenAttempt, failure: UpstreamFailure, report: UsageReport, nowMs: number): ClosedAttempt;
}

/** What the upstream's whole answer says about its attempt. */
export interface AnsweredCall {
  readonly report: UsageReport;
  readonly firstTokenMs: number;
  readonly empty: boolean;
  /** What the upstream calls the model that answered, if it is another than the one asked. */
  readonly otherModel?: string | undefined;
}

/** What a call with a whole answer needs of the settle step. */
export interface CallSettlement extends AttemptCloser {
  /** Closes the attempt that answered: ledger, health and the request's record. */
  settleAnswer(
    attempt: OpenAttempt,
    answered: AnsweredCall,
    context: Pick<StreamContext, "recorder">,
    ports: Ports,
  ): void;
}
