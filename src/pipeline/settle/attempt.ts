import type { Model, ModelRegistry, Price } from "#domain/model.ts";
import { otherModel as ifOther } from "#domain/model-names.ts";
import { formatUsd, type NanoUsd } from "#domain/money/money.ts";
import type { TimeSpan } from "#domain/money/prices.ts";
import { holdFor } from "#domain/money/tokens.ts";
import type { Writable } from "#domain/writable.ts";
import type { Permit } from "#health/health.ts";
import type { Resolution } from "#ledger/ledger.ts";
import { mostOf, priceOf } from "#pipeline/decide/select/budget.ts";
import type { Configuration } from "#pipeline/ports.ts";
import type { RequestSize } from "#pipeline/request-size.ts";
import type { AttemptRecord } from "#records/record.ts";
import type { UpstreamFailure, UsageReport } from "#upstream/upstream.ts";
import { chargeOf, verdictOf } from "./consequences.ts";
import { maxCredibleCost, type Settlement, settlementOf } from "./cost.ts";

/** One call to the upstream, from the reservation of its hold until the ledger has its resolution. */
export interface OpenAttempt {
  readonly id: string;
  readonly model: Model;
  readonly purpose: AttemptRecord["purpose"];
  readonly hold: NanoUsd;
  /** What the hold is made of, with the model's prices; token counts are settled at the same. */
  readonly size: RequestSize;
  /** An answer that is not streamed is written to its end, whoever leaves. */
  readonly stream: boolean;
  readonly configuration: Configuration;
  /** Whether the prices were sent with the call as the most it may cost, and nothing else narrowed the choice of hosts. */
  readonly priceLimited: boolean;
  readonly permit: Permit;
  /** Monotonic milliseconds. */
  readonly startedMs: number;
  /** The moment of `startedMs` in milliseconds since the epoch: prices can depend on the hour. */
  readonly startedAtMs: number;
  /** Monotonic milliseconds at which the hold was reserved and the call goes out; absent before. */
  dispatchedMs?: number;
  /** The UTC day on which the ledger counts it; absent before it has answered. */
  day?: string;
}

/** How an attempt ended: its resolution for the ledger and its entry in the record. Health has its verdict already. */
export interface ClosedAttempt {
  readonly resolution: Resolution;
  readonly record: AttemptRecord;
}

/** What came of a call. */
interface CallEnd {
  readonly report: UsageReport;
  readonly nowMs: number;
  /** What the upstream calls the model that answered, if it is another than the one asked. */
  readonly otherModel?: string | undefined;
}

/** The upstream answered in full. Without usage or cost nobody will ever know: the hold is charged. */
export function closeAnswered(
  attempt: OpenAttempt,
  end: CallEnd & { readonly firstTokenMs: number; readonly empty: boolean },
): ClosedAttempt {
  const { id, permit, hold } = attempt;
  const known = believedCost(attempt, end);
  // What the caller's own fields have made of the price says nothing about the model.
  if (!isPricedByCost(attempt) && known.settlement !== undefined && known.settlement.actual > hold)
    permit.report({ kind: "price_breach" });
  else if (end.empty) permit.report({ kind: "garbage", reason: "empty answer" });
  else permit.report({ kind: "success", firstTokenMs: end.firstTokenMs });
  const resolution = resolutionOf(known, end, hold, { id, kind: "charged", reason: "answered without its usage" });
  const closed = close(attempt, "answered", end, resolution, known.distrusted);
  closed.record.firstTokenMs = end.firstTokenMs;
  return closed;
}

/**
 * The upstream did not deliver; the failure's message is redacted. What it reported last still settles the cost
 * exactly, unless it only counted along.
 */
export function closeFailed(attempt: OpenAttempt, failure: UpstreamFailure, end: CallEnd): ClosedAttempt {
  const { id, hold, configuration } = attempt;
  const { report } = end;
  attempt.permit.report(verdictOf(failure, attempt.model.upstreamId));
  const known = believedCost(attempt, end);
  const reason = failure.status === undefined ? failure.kind : `${failure.kind} ${failure.status}`;
  const isCounted = report.usage !== undefined || report.costNanoUsd !== undefined;
  const charge = chargeOf(failure, configuration.failedCallsFree === true && !isCounted);
  const otherwise: Resolution = { id, kind: charge === "nothing" ? "released" : "unknown", reason };
  const resolution = resolutionOf(known, end, hold, otherwise);
  const closed = close(attempt, failure.kind, end, resolution, known.distrusted);
  if (failure.status !== undefined) closed.record.upstreamStatus = failure.status;
  if (failure.message !== "") closed.record.reason = failure.message;
  return closed;
}

/**
 * The caller disconnected after the call was sent. With the final usage seen it is settled; otherwise what a cancelled
 * call is billed, where the aggregator stops billing on cancel, or the whole hold; never less than the upstream had
 * counted so far. Never free. `outputBytes`: of the stream, so far; undefined for an answer that was written as a
 * whole.
 */
export function closeAbandoned(attempt: OpenAttempt, outputBytes: number | undefined, end: CallEnd): ClosedAttempt {
  const { id, hold } = attempt;
  attempt.permit.report({ kind: "ignored" });
  const known = believedCost(attempt, end);
  const cancelled = cancelledCost(attempt, outputBytes);
  const otherwise: Resolution =
    cancelled === undefined
      ? { id, kind: "charged", reason: "caller left" }
      : { id, kind: "settled", actual: cancelled, source: "at_least" };
  const resolution = resolutionOf(known, end, cancelled ?? hold, otherwise);
  return close(attempt, "aborted", end, resolution, known.distrusted);
}

/** The caller disconnected before anything was sent: costs nothing, proves nothing. */
export function closeUnsent(attempt: OpenAttempt, nowMs: number): ClosedAttempt {
  attempt.permit.report({ kind: "ignored" });
  return close(attempt, "aborted", { report: {}, nowMs }, { id: attempt.id, kind: "released", reason: "never sent" });
}

/** The caller's fields change the price, so our prices do not bound the cost: only a stated cost is believed. */
function isPricedByCost({ size }: OpenAttempt): boolean {
  return size.surcharge !== undefined;
}

/**
 * What a cancelled stream is billed at least, where the aggregator stops billing on cancel: all input and the output
 * received. Undefined where cancelling does not stop the billing.
 */
function cancelledCost(attempt: OpenAttempt, outputBytes: number | undefined): NanoUsd | undefined {
  const { model, size, hold, configuration, stream } = attempt;
  const stops = configuration.policy.upstream.billing_stops_on_cancel && stream && !isPricedByCost(attempt);
  if (!stops || outputBytes === undefined) return undefined;
  const bound = { inputTokens: size.inputTokensBound, outputTokens: outputBytes, choices: 1 };
  const cost = holdFor(bound, priceOf(model, size));
  return cost < hold ? cost : hold;
}

/** What a report says of the cost, up to what the model can have written; `distrusted` is what was stated above that. */
interface BelievedCost {
  readonly settlement?: Settlement;
  readonly distrusted?: NanoUsd;
}

function believedCost(attempt: OpenAttempt, end: CallEnd): BelievedCost {
  const { hold, model, size } = attempt;
  const settlement = settlementByModel(attempt, end);
  if (settlement === undefined) return {};
  if (settlement.actual <= hold) return { settlement };
  const hasOtherPrice = isPricedByCost(attempt) || end.otherModel !== undefined;
  const limit = maxCredibleCost(hold, mostOf(model, size), hasOtherPrice);
  if (settlement.actual <= limit) return { settlement };
  return { settlement: { actual: limit, source: "at_least" }, distrusted: settlement.actual };
}

/** Tokens of another model that the registry knows are settled at the higher of the two prices. */
function settlementByModel(attempt: OpenAttempt, { report, nowMs, otherModel }: CallEnd): Settlement | undefined {
  const { model, size, hold, startedMs, startedAtMs, configuration } = attempt;
  // Of the same clock: one that is set meanwhile does not bend the span.
  const during: TimeSpan = { fromMs: startedAtMs, toMs: startedAtMs + (nowMs - startedMs) };
  const settlement = settlementOf(report, isPricedByCost(attempt) ? undefined : priceOf(model, size), hold, during);
  if (otherModel === undefined || settlement === undefined || report.costNanoUsd !== undefined) return settlement;
  const known = priceByName(configuration.registry, otherModel);
  const other = known === undefined ? undefined : settlementOf(report, known, hold, during);
  return other !== undefined && other.actual > settlement.actual ? other : settlement;
}

/** Our price of a model by the name that an upstream gives it; undefined where the registry has none of that name. */
function priceByName({ models }: ModelRegistry, name: string): Price | undefined {
  for (const { upstreamId, price } of models.values()) if (ifOther(upstreamId, name) === undefined) return price;
  return undefined;
}

/** By the cost that is known, if it is final or above what would be charged without it. Otherwise as given. */
function resolutionOf(
  { settlement, distrusted }: BelievedCost,
  { report }: CallEnd,
  charge: NanoUsd,
  otherwise: Resolution,
): Resolution {
  const isFinal = report.partial !== true;
  if (settlement === undefined || (!isFinal && settlement.actual <= charge)) return otherwise;
  const { actual, source } = settlement;
  const settled: Resolution = { id: otherwise.id, kind: "settled", actual, source: isFinal ? source : "at_least" };
  if (distrusted === undefined) return settled;
  return { ...settled, reason: `absurd cost of ${formatUsd(distrusted)} USD`, distrusted };
}

function close(
  attempt: OpenAttempt,
  outcome: string,
  { report, nowMs, otherModel }: CallEnd,
  resolution: Resolution,
  distrusted?: NanoUsd,
): { readonly resolution: Resolution; readonly record: Writable<AttemptRecord> } {
  // One literal, and what is rare added to it: spreads cost several times as much.
  const record: Writable<AttemptRecord> = {
    id: attempt.id,
    model: attempt.model.key,
    purpose: attempt.purpose,
    outcome,
    startedMs: attempt.startedMs,
    durationMs: nowMs - attempt.startedMs,
    holdNanoUsd: attempt.hold,
  };
  if (resolution.kind === "settled") {
    record.costNanoUsd = resolution.actual;
    record.costSource = resolution.source;
  } else if (resolution.kind === "charged") {
    record.costNanoUsd = attempt.hold;
    record.costSource = "hold";
  } else if (resolution.kind === "released") record.costSource = "released";
  if (distrusted !== undefined) record.distrustedCostNanoUsd = distrusted;
  if (report.usage !== undefined) record.usage = report.usage;
  if (attempt.priceLimited) record.priceLimited = true;
  if (report.generationId !== undefined) record.generationId = report.generationId;
  if (report.host !== undefined) record.host = report.host;
  if (report.ownAccount !== undefined) record.ownAccount = report.ownAccount;
  if (attempt.day !== undefined) record.day = attempt.day;
  if (attempt.dispatchedMs !== undefined) record.ledgerMs = attempt.dispatchedMs - attempt.startedMs;
  if (otherModel !== undefined) {
    // It comes from outside, and is logged and stored.
    record.otherModel = attempt.configuration.privacy.redactText(otherModel).text;
    record.costStated = report.costNanoUsd !== undefined;
  }
  // What the aggregator is to be asked by, where it can be.
  const asked = report.generationId !== undefined && report.asksBilling === true;
  return { resolution: asked ? { ...resolution, generationId: report.generationId ?? "" } : resolution, record };
}
