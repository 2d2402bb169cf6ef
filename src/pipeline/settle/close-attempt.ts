import type { ModelRegistry, Price } from "#domain/model.ts";
import { otherModel as ifOther } from "#domain/model-names.ts";
import { formatUsd, type NanoUsd } from "#domain/money/money.ts";
import type { TimeSpan } from "#domain/money/prices.ts";
import type { Writable } from "#domain/writable.ts";
import type { Resolution } from "#ledger/ledger.ts";
import type { AnsweredCall, ClosedAttempt, OpenAttempt } from "#pipeline/execute/attempt.ts";
import { chargeOf, verdictOf } from "#pipeline/execute/consequences.ts";
import type { AttemptRecord } from "#records/record.ts";
import type { UpstreamFailure, UsageReport } from "#upstream/upstream.ts";
import { maxCredibleCost, maxCredibleCostElsewhere, settlementOf } from "./cost.ts";

/** The upstream answered in full. Without usage or cost nobody will ever know: the hold is charged. */
export function closeAnswered(attempt: OpenAttempt, answered: AnsweredCall, nowMs: number): ClosedAttempt {
  const { report, firstTokenMs, empty, otherModel } = answered;
  const { settlement, distrusted } = credibleSettlement(attempt, report, nowMs, otherModel);
  // What the caller's own fields have made of the price says nothing about the model.
  const priced = !attempt.pricedByCost;
  if (priced && distrusted !== undefined) attempt.permit.report({ kind: "garbage", reason: "absurd cost" });
  else if (priced && settlement !== undefined && settlement.actual > attempt.hold)
    attempt.permit.report({ kind: "price_breach" });
  else if (empty) attempt.permit.report({ kind: "garbage", reason: "empty answer" });
  else attempt.permit.report({ kind: "success", firstTokenMs });
  let resolution: Resolution;
  if (distrusted !== undefined) resolution = chargeForDistrustedCost(attempt, distrusted);
  else if (settlement === undefined) resolution = { id: attempt.id, kind: "charged", reason: "answered without usage" };
  else resolution = { id: attempt.id, kind: "settled", actual: settlement.actual, source: settlement.source };
  const cost = resolution.kind === "settled" ? resolution.actual : attempt.hold;
  const record = recordOf(attempt, "answered", undefined, report, cost, nowMs, resolution, distrusted, firstTokenMs);
  return { resolution: withGenerationId(resolution, report), record: withOtherModel(record, otherModel, report) };
}

function withOtherModel(record: AttemptRecord, otherModel: string | undefined, report: UsageReport): AttemptRecord {
  return otherModel === undefined ? record : { ...record, otherModel, costStated: report.costNanoUsd !== undefined };
}

/** The price for which token counts are believed where no cost is stated; undefined where only a stated cost is. */
function usagePriceOf({ price, pricedByCost }: OpenAttempt): Price | undefined {
  return pricedByCost ? undefined : price;
}

/** The upstream did not deliver. What it reported last still settles the cost exactly, unless it only counted along. */
export function closeFailed(
  attempt: OpenAttempt,
  failure: UpstreamFailure,
  report: UsageReport,
  nowMs: number,
  otherModel?: string,
): ClosedAttempt {
  attempt.permit.report(verdictOf(failure, attempt.model.upstreamId));
  const { settlement: stated, distrusted } = credibleSettlement(attempt, report, nowMs, otherModel);
  const settlement = report.partial === true ? undefined : stated;
  const reason = failure.status === undefined ? failure.kind : `${failure.kind} ${failure.status}`;
  let resolution: Resolution;
  if (distrusted !== undefined) {
    resolution = chargeForDistrustedCost(attempt, distrusted);
  } else if (settlement !== undefined) {
    resolution = { id: attempt.id, kind: "settled", actual: settlement.actual, source: settlement.source };
  } else if (chargeOf(failure) === "nothing") {
    resolution = { id: attempt.id, kind: "released", reason };
  } else {
    resolution = { id: attempt.id, kind: "unknown", reason };
  }
  const cost = distrusted === undefined ? settlement?.actual : attempt.hold;
  const record = recordOf(attempt, failure.kind, failure.status, report, cost, nowMs, resolution, distrusted);
  return { resolution: withGenerationId(resolution, report), record: withOtherModel(record, otherModel, report) };
}

/**
 * The caller disconnected after the call was sent. With the final usage seen it is settled; otherwise `atLeast` (what a
 * cancelled call is billed, where the aggregator stops billing on cancel) or, without it, the whole hold; never less than
 * the upstream had counted so far. Never free.
 */
export function closeAbandoned(
  attempt: OpenAttempt,
  report: UsageReport,
  atLeast: NanoUsd | undefined,
  nowMs: number,
  otherModel?: string,
): ClosedAttempt {
  attempt.permit.report({ kind: "ignored" });
  const { settlement, distrusted } = credibleSettlement(attempt, report, nowMs, otherModel);
  const isStopped = atLeast !== undefined && !attempt.pricedByCost;
  const least = isStopped ? atLeast : attempt.hold;
  let resolution: Resolution;
  let cost: NanoUsd;
  if (distrusted !== undefined) {
    cost = attempt.hold;
    resolution = chargeForDistrustedCost(attempt, distrusted);
  } else if (settlement !== undefined && report.partial !== true) {
    cost = settlement.actual;
    resolution = { id: attempt.id, kind: "settled", actual: settlement.actual, source: settlement.source };
  } else if (settlement !== undefined && settlement.actual > least) {
    cost = settlement.actual;
    resolution = { id: attempt.id, kind: "settled", actual: settlement.actual, source: "at_least" };
  } else if (isStopped) {
    cost = least;
    resolution = { id: attempt.id, kind: "settled", actual: least, source: "at_least" };
  } else {
    cost = attempt.hold;
    resolution = { id: attempt.id, kind: "charged", reason: "caller left" };
  }
  const record = recordOf(attempt, "aborted", undefined, report, cost, nowMs, resolution, distrusted);
  return { resolution: withGenerationId(resolution, report), record: withOtherModel(record, otherModel, report) };
}

/** The caller disconnected after money was held and before anything was sent: costs nothing, proves nothing. */
export function closeUnsent(attempt: OpenAttempt, nowMs: number): ClosedAttempt {
  attempt.permit.report({ kind: "ignored" });
  const resolution: Resolution = { id: attempt.id, kind: "released", reason: "never sent" };
  return { resolution, record: recordOf(attempt, "aborted", undefined, {}, undefined, nowMs, resolution) };
}

/** What the report says the attempt cost, unless that is too much to be true: then what it stated. */
function credibleSettlement(
  attempt: OpenAttempt,
  report: UsageReport,
  nowMs: number,
  otherModel: string | undefined,
): { readonly settlement?: ReturnType<typeof settlementOf>; readonly distrusted?: NanoUsd } {
  const settlement = settlementByModel(attempt, report, nowMs, otherModel);
  // The hold is made of our prices: it says little where another model has answered or the caller's fields set the price.
  const { hold, absurdCostFactor } = attempt;
  const limitOf = attempt.pricedByCost || otherModel !== undefined ? maxCredibleCostElsewhere : maxCredibleCost;
  if (settlement === undefined || settlement.actual <= limitOf(hold, absurdCostFactor)) return { settlement };
  return { distrusted: settlement.actual };
}

/** Tokens of another model that the registry knows are settled at the higher of the two prices. */
function settlementByModel(
  attempt: OpenAttempt,
  report: UsageReport,
  nowMs: number,
  otherModel: string | undefined,
): ReturnType<typeof settlementOf> {
  const during = spanOf(attempt, nowMs);
  const settlement = settlementOf(report, usagePriceOf(attempt), attempt.hold, during);
  if (otherModel === undefined || settlement === undefined || report.costNanoUsd !== undefined) return settlement;
  const known = priceByName(attempt.registry, otherModel);
  const other = known === undefined ? undefined : settlementOf(report, known, attempt.hold, during);
  return other !== undefined && other.actual > settlement.actual ? other : settlement;
}

/** Our price of a model by the name that an upstream gives it; undefined where the registry has none of that name. */
function priceByName({ models }: ModelRegistry, name: string): Price | undefined {
  for (const { upstreamId, price } of models.values()) if (ifOther(upstreamId, name) === undefined) return price;
  return undefined;
}

/** Neither believed nor free: the hold is charged, and the ledger says so loudly. */
function chargeForDistrustedCost({ id }: OpenAttempt, distrusted: NanoUsd): Resolution {
  return { id, kind: "charged", reason: `absurd cost of ${formatUsd(distrusted)} USD`, distrusted };
}

/** The resolution with what the aggregator is to be asked by, where the report says so. */
function withGenerationId(resolution: Resolution, { generationId, asksBilling }: UsageReport): Resolution {
  return generationId === undefined || asksBilling !== true ? resolution : { ...resolution, generationId };
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
  resolution: Resolution,
  distrusted?: NanoUsd,
  firstTokenMs?: number,
): AttemptRecord {
  const record: Writable<AttemptRecord> = {
    id: attempt.id,
    model: attempt.model.key,
    purpose: attempt.purpose,
    outcome,
    startedMs: attempt.startedMs,
    durationMs: nowMs - attempt.startedMs,
    holdNanoUsd: attempt.hold,
  };
  if (upstreamStatus !== undefined) record.upstreamStatus = upstreamStatus;
  if (cost !== undefined) record.costNanoUsd = cost;
  if (resolution.kind === "settled") record.costSource = resolution.source;
  else if (resolution.kind === "charged") record.costSource = "hold";
  else if (resolution.kind === "released") record.costSource = "released";
  if (distrusted !== undefined) record.distrustedCostNanoUsd = distrusted;
  if (report.usage !== undefined) record.usage = report.usage;
  if (attempt.priceLimited) record.priceLimited = true;
  if (report.generationId !== undefined) record.generationId = report.generationId;
  if (report.host !== undefined) record.host = report.host;
  if (report.ownAccount !== undefined) record.ownAccount = report.ownAccount;
  if (attempt.day !== undefined) record.day = attempt.day;
  if (attempt.dispatchedMs !== undefined) record.ledgerMs = attempt.dispatchedMs - attempt.startedMs;
  if (firstTokenMs !== undefined) record.firstTokenMs = firstTokenMs;
  return record;
}
