import type { Model, Price } from "#domain/model.ts";
import { formatUsd, type NanoUsd } from "#domain/money.ts";
import type { TimeSpan } from "#domain/prices.ts";
import type { Permit } from "#health/health.ts";
import type { Resolution } from "#ledger/ledger.ts";
import { settlementOf } from "#pipeline/settle/cost.ts";
import type { AttemptRecord } from "#records/record.ts";
import type { UpstreamFailure, UsageReport } from "#upstream/upstream.ts";
import { chargeOf, verdictOf } from "./consequences.ts";

/** One call to the upstream from the moment its money is held until the books know how it ended. */
export interface OpenAttempt {
  readonly id: string;
  readonly model: Model;
  readonly purpose: AttemptRecord["purpose"];
  readonly hold: NanoUsd;
  /** The prices that the hold was made with; token counts are settled at the same. */
  readonly price: Price;
  /** They go with the call as the most it may cost. */
  readonly priceLimited: boolean;
  /** A stated cost above this is not believed. */
  readonly mostTrusted: NanoUsd;
  readonly permit: Permit;
  /** Monotonic milliseconds. */
  readonly startedMs: number;
  /** The same moment in milliseconds since the epoch: prices can depend on the hour. */
  readonly startedAtMs: number;
}

/** An attempt's end: what the ledger is told and what the record keeps. Health has been told already. */
export interface ClosedAttempt {
  readonly resolution: Resolution;
  readonly record: AttemptRecord;
}

/** The upstream answered in full. Without usage or cost nobody will ever know: the hold is charged. */
export function closeAnswered(
  attempt: OpenAttempt,
  answered: { readonly report: UsageReport; readonly firstTokenMs: number; readonly empty: boolean },
  nowMs: number,
): ClosedAttempt {
  const { report, firstTokenMs, empty } = answered;
  const { settlement, distrusted } = believed(attempt, report, nowMs);
  if (distrusted !== undefined) attempt.permit.report({ kind: "garbage", reason: "absurd cost" });
  else if (settlement !== undefined && settlement.actual > attempt.hold)
    attempt.permit.report({ kind: "price_breach" });
  else if (empty) attempt.permit.report({ kind: "garbage", reason: "empty answer" });
  else attempt.permit.report({ kind: "success", firstTokenMs });
  let resolution: Resolution;
  if (distrusted !== undefined) resolution = distrustedCost(attempt, distrusted);
  else if (settlement === undefined) resolution = { id: attempt.id, kind: "charged", reason: "answered without usage" };
  else resolution = { id: attempt.id, kind: "settled", actual: settlement.actual, source: settlement.source };
  const cost = distrusted === undefined ? settlement?.actual : attempt.hold;
  return { resolution, record: recordOf(attempt, "answered", undefined, report, cost, nowMs, distrusted) };
}

/** The upstream did not deliver. What it reported before it failed still settles the cost exactly. */
export function closeFailed(
  attempt: OpenAttempt,
  failure: UpstreamFailure,
  report: UsageReport,
  nowMs: number,
): ClosedAttempt {
  attempt.permit.report(verdictOf(failure, attempt.model.upstreamId));
  const { settlement, distrusted } = believed(attempt, report, nowMs);
  const reason = failure.status === undefined ? failure.kind : `${failure.kind} ${failure.status}`;
  let resolution: Resolution;
  if (distrusted !== undefined) {
    resolution = distrustedCost(attempt, distrusted);
  } else if (settlement !== undefined) {
    resolution = { id: attempt.id, kind: "settled", actual: settlement.actual, source: settlement.source };
  } else if (chargeOf(failure) === "nothing") {
    resolution = { id: attempt.id, kind: "released", reason };
  } else {
    resolution = { id: attempt.id, kind: "unknown", reason };
  }
  const cost = distrusted === undefined ? settlement?.actual : attempt.hold;
  return { resolution, record: recordOf(attempt, failure.kind, failure.status, report, cost, nowMs, distrusted) };
}

/**
 * The caller went away after the call was sent. With usage seen it is settled; otherwise `seen` (what a cancelled call is
 * billed, where the aggregator stops billing on cancel) or, without it, the whole hold. Never free.
 */
export function closeAbandoned(
  attempt: OpenAttempt,
  report: UsageReport,
  seen: NanoUsd | undefined,
  nowMs: number,
): ClosedAttempt {
  attempt.permit.report({ kind: "ignored" });
  const { settlement, distrusted } = believed(attempt, report, nowMs);
  let resolution: Resolution;
  let cost: NanoUsd;
  if (distrusted !== undefined) {
    cost = attempt.hold;
    resolution = distrustedCost(attempt, distrusted);
  } else if (settlement !== undefined) {
    cost = settlement.actual;
    resolution = { id: attempt.id, kind: "settled", actual: settlement.actual, source: settlement.source };
  } else if (seen !== undefined) {
    cost = seen;
    resolution = { id: attempt.id, kind: "settled", actual: seen, source: "at_least" };
  } else {
    cost = attempt.hold;
    resolution = { id: attempt.id, kind: "charged", reason: "caller left" };
  }
  return { resolution, record: recordOf(attempt, "aborted", undefined, report, cost, nowMs, distrusted) };
}

/** The caller went away after money was held and before anything was sent: costs nothing, proves nothing. */
export function closeUnsent(attempt: OpenAttempt, nowMs: number): ClosedAttempt {
  attempt.permit.report({ kind: "ignored" });
  return {
    resolution: { id: attempt.id, kind: "released", reason: "never sent" },
    record: recordOf(attempt, "aborted", undefined, {}, undefined, nowMs),
  };
}

/** What the report says the attempt cost, unless that is too much to be true: then what it stated. */
function believed(
  attempt: OpenAttempt,
  report: UsageReport,
  nowMs: number,
): { readonly settlement?: ReturnType<typeof settlementOf>; readonly distrusted?: NanoUsd } {
  const settlement = settlementOf(report, attempt.price, attempt.hold, spanOf(attempt, nowMs));
  if (settlement === undefined || settlement.actual <= attempt.mostTrusted) return { settlement };
  return { distrusted: settlement.actual };
}

/** Neither believed nor free: the hold is charged, and the ledger says so loudly. */
function distrustedCost({ id }: OpenAttempt, distrusted: NanoUsd): Resolution {
  return { id, kind: "charged", reason: `absurd cost of ${formatUsd(distrusted)} USD`, distrusted };
}

/** When the call was under way. `nowMs` is monotonic: a clock that is set meanwhile does not bend the span. */
function spanOf({ startedMs, startedAtMs }: OpenAttempt, nowMs: number): TimeSpan {
  return { fromMs: startedAtMs, toMs: startedAtMs + (nowMs - startedMs) };
}

function recordOf(
  attempt: OpenAttempt,
  outcome: string,
  upstreamStatus: number | undefined,
  report: UsageReport,
  cost: NanoUsd | undefined,
  nowMs: number,
  distrusted?: NanoUsd,
): AttemptRecord {
  const record: { -readonly [name in keyof AttemptRecord]: AttemptRecord[name] } = {
    model: attempt.model.key,
    purpose: attempt.purpose,
    outcome,
    durationMs: nowMs - attempt.startedMs,
    holdNanoUsd: attempt.hold,
  };
  if (upstreamStatus !== undefined) record.upstreamStatus = upstreamStatus;
  if (cost !== undefined) record.costNanoUsd = cost;
  if (distrusted !== undefined) record.distrustedCostNanoUsd = distrusted;
  if (report.usage !== undefined) record.usage = report.usage;
  if (attempt.priceLimited) record.priceLimited = true;
  return record;
}
