import type { RoutingDecision } from "#domain/routing.ts";
import type { AttemptRecord, RequestRecord } from "#records/record.ts";

/** Of each part of a request's record its values, in an order of their own, and the part that they were; undefined is absent. */

export function requestValues(request: RequestRecord) {
  const { timings, redactions } = request;
  return [
    request.requestId,
    request.decisionId,
    request.atMs,
    request.alias,
    request.stream,
    decisionValues(request.decision),
    request.errorCode,
    request.status,
    request.outcome,
    request.answeredBy,
    request.costNanoUsd,
    request.forwardedFields,
    request.priceVersion,
    redactions.length === 0 ? null : redactions.map(({ rule, count }) => [rule, count] as const),
    micros(timings.gateMs),
    micros(timings.decisionMs),
    micros(timings.firstTokenMs),
    // As it is: the moment at which the record counts is rounded of it.
    timings.totalMs,
  ] as const;
}

export function requestFrom(values: ReturnType<typeof requestValues>): Omit<RequestRecord, "attempts" | "routed"> {
  const [requestId, decisionId, atMs, alias, stream, decision, errorCode, status, outcome, ...more] = values;
  const [answeredBy, costNanoUsd, forwardedFields, priceVersion, redactions, ...timings] = more;
  const [gateMs, decisionMs, firstTokenMs, totalMs] = timings;
  return {
    requestId,
    decisionId,
    atMs,
    begunMs: 0,
    alias,
    stream,
    decision: decisionFrom(decision),
    errorCode,
    status,
    outcome,
    answeredBy,
    costNanoUsd,
    forwardedFields,
    priceVersion,
    redactions: (redactions ?? []).map(([rule, count]) => ({ rule, count })),
    timings: { gateMs, decisionMs, firstTokenMs, totalMs },
  } as ReturnType<typeof requestFrom>; // what is undefined is absent
}

export function decisionValues(decision: RoutingDecision) {
  const { action, model, cause, score, confidence, sensitive_block_applied, evidence } = decision;
  return [action, model, cause, score, confidence, sensitive_block_applied, evidence] as const;
}

export function decisionFrom(values: ReturnType<typeof decisionValues>): RoutingDecision {
  const [action, model, cause, score, confidence, sensitive_block_applied, evidence] = values;
  // The other fields are in no record and are not read.
  return { action, model, cause, score, confidence, sensitive_block_applied, evidence } as RoutingDecision;
}

export function attemptValues(attempt: AttemptRecord, { begunMs, decisionId }: RequestRecord) {
  const { usage } = attempt;
  return [
    numberIn(attempt.id, decisionId),
    attempt.model,
    attempt.purpose,
    attempt.outcome,
    attempt.upstreamStatus,
    micros(attempt.startedMs - begunMs),
    attempt.day,
    micros(attempt.ledgerMs),
    micros(attempt.firstTokenMs),
    micros(attempt.durationMs),
    attempt.holdNanoUsd,
    attempt.costNanoUsd,
    attempt.costSource,
    attempt.generationId,
    attempt.host,
    attempt.ownAccount,
    attempt.otherModel,
    usage === undefined
      ? null
      : ([usage.input, usage.cachedInput, usage.output, usage.reasoning, usage.cacheWrite] as const),
  ] as const;
}

export function attemptFrom(values: ReturnType<typeof attemptValues>, decisionId: string): AttemptRecord {
  const [number, model, purpose, outcome, upstreamStatus, startedMs, day, ledgerMs, firstTokenMs, ...more] = values;
  const [durationMs, holdNanoUsd, costNanoUsd, costSource, generationId, host, ownAccount, otherModel, usage] = more;
  const [input, cachedInput, output, reasoning, cacheWrite] = usage ?? [];
  return {
    id: `${decisionId}.${number}`,
    model,
    purpose,
    outcome,
    upstreamStatus,
    startedMs,
    day,
    ledgerMs,
    firstTokenMs,
    durationMs,
    holdNanoUsd,
    costNanoUsd,
    costSource,
    generationId,
    host,
    ownAccount,
    otherModel,
    usage: usage === null ? undefined : { input, cachedInput, output, reasoning, cacheWrite },
  } as AttemptRecord; // what is undefined is absent
}

/** The attempt's number in its reservation's id, `decisionId.number`. Nearly all have one digit, and making a text of it takes longer. */
function numberIn(id: string, decisionId: string): number {
  const at = decisionId.length + 1;
  const digit = id.length === at + 1 ? id.charCodeAt(at) - 0x30 : Number.NaN;
  return digit >= 0 && digit <= 9 ? digit : Number(id.slice(id.lastIndexOf(".") + 1));
}

/** Milliseconds as the record has them: three places are plenty. */
function micros(ms: number): number;
function micros(ms: number | undefined): number | undefined;
function micros(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 1_000) / 1_000;
}
