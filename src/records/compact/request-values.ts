import type { RoutingDecision } from "#domain/routing.ts";
import type { AttemptRecord, RequestRecord } from "#records/record.ts";
import type { RecordFacts } from "#records/record-facts.ts";
import type { ValueSource } from "./value-source.ts";

/**
 * Of the parts of a request's record: their values in one list, and how they are read, in the same order; undefined is absent. One list:
 * each further one is another place in memory that a block's columns are gathered from.
 */
export function requestValues(request: RequestRecord, facts: Omit<RecordFacts, "conversation">): unknown[] {
  const { decision, timings, redactions } = request;
  return [
    request.requestId,
    request.decisionId,
    request.atMs,
    request.alias,
    request.stream,
    decision.action,
    decision.model,
    decision.cause,
    decision.score,
    decision.confidence,
    decision.sensitive_block_applied,
    decision.evidence,
    request.errorCode,
    request.status,
    request.outcome,
    request.answeredBy,
    request.costNanoUsd,
    request.forwardedFields,
    request.priceVersion,
    redactions.length === 0 ? null : redactions.map(({ rule, count }) => [rule, count]),
    micros(timings.gateMs),
    micros(timings.decisionMs),
    micros(timings.firstTokenMs),
    // As it is: the moment at which the record counts is rounded of it.
    timings.totalMs,
    facts.policyHash,
    facts.session,
    facts.upstreamModel,
    facts.tier,
    facts.baseline,
    facts.priceBand,
  ];
}

export function readRequest(values: ValueSource): Omit<RequestRecord, "attempts" | "routed"> {
  return {
    requestId: values.next(),
    decisionId: values.next(),
    atMs: values.next(),
    begunMs: 0,
    alias: values.next(),
    stream: values.next(),
    decision: readDecision(values),
    errorCode: values.next(),
    status: values.next(),
    outcome: values.next(),
    answeredBy: values.next(),
    costNanoUsd: values.next(),
    forwardedFields: values.next(),
    priceVersion: values.next(),
    redactions: (values.next<[string, number][] | null>() ?? []).map(([rule, count]) => ({ rule, count })),
    timings: { gateMs: values.next(), decisionMs: values.next(), firstTokenMs: values.next(), totalMs: values.next() },
  };
}

/** Behind those of `readRequest`. */
export function readFacts(values: ValueSource): Omit<RecordFacts, "conversation"> {
  return {
    policyHash: values.next(),
    session: values.next(),
    upstreamModel: values.next(),
    tier: values.next(),
    baseline: values.next(),
    priceBand: values.next(),
  };
}

export function decisionValues(decision: RoutingDecision): unknown[] {
  const { action, model, cause, score, confidence, sensitive_block_applied, evidence } = decision;
  return [action, model, cause, score, confidence, sensitive_block_applied, evidence];
}

export function readDecision(values: ValueSource): RoutingDecision {
  return {
    action: values.next(),
    model: values.next(),
    cause: values.next(),
    score: values.next(),
    confidence: values.next(),
    sensitive_block_applied: values.next(),
    evidence: values.next(),
  } as RoutingDecision; // the other fields are in no record and are not read
}

export function attemptValues(attempt: AttemptRecord, { begunMs, decisionId }: RequestRecord): unknown[] {
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
    usage?.input,
    usage?.cachedInput,
    usage?.output,
    usage?.reasoning,
    usage?.cacheWrite,
  ];
}

export function readAttempt(values: ValueSource, decisionId: string): AttemptRecord {
  return {
    id: `${decisionId}.${values.next<number>()}`,
    model: values.next(),
    purpose: values.next(),
    outcome: values.next(),
    upstreamStatus: values.next(),
    startedMs: values.next(),
    day: values.next(),
    ledgerMs: values.next(),
    firstTokenMs: values.next(),
    durationMs: values.next(),
    holdNanoUsd: values.next(),
    costNanoUsd: values.next(),
    costSource: values.next(),
    generationId: values.next(),
    host: values.next(),
    ownAccount: values.next(),
    otherModel: values.next(),
    usage: readUsage(values),
  } as AttemptRecord; // what is undefined is absent
}

function readUsage(values: ValueSource): AttemptRecord["usage"] {
  const usage = {
    input: values.next<number | undefined>(),
    cachedInput: values.next(),
    output: values.next(),
    reasoning: values.next(),
    cacheWrite: values.next(),
  };
  return usage.input === undefined ? undefined : (usage as AttemptRecord["usage"]); // all of it is there, or none
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
