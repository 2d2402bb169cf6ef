import type { ChatRequest } from "#domain/chat.ts";
import type { ModelKey } from "#domain/model.ts";
import { saturatedUsd } from "#domain/money/money.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import type { Writable } from "#domain/writable.ts";
import type { Assessment } from "#pipeline/assess/assess.ts";
import type { Snapshot, SpendView } from "#pipeline/decide/snapshot.ts";
import { isReported } from "#pipeline/task/task-runtime.ts";
import type { AbortControllerLike } from "#platform/abort.ts";
import type { Clock } from "#platform/time.ts";
import { type Finding, findingsIn, type RedactedBody } from "#privacy/redaction.ts";
import type { AttemptRecord, RequestOutcome, RequestRecord } from "#records/record.ts";
import type { Configuration, Ports } from "./ports.ts";

/** What every step after the assessment knows of one chat request. */
export interface RequestContext {
  readonly request: ChatRequest;
  readonly configuration: Configuration;
  readonly redacted: RedactedBody;
  readonly assessment: Assessment;
  readonly recorder: RequestRecorder;
  /** Aborted when the caller disconnects; every call made for the request then stops. */
  readonly caller: AbortControllerLike;
  /** Monotonic milliseconds at which the request must have ended. */
  readonly deadlineMs: number;
}

/** A decision and the snapshot it was made from: fail-over reads the same snapshot. */
export interface RoutedDecision {
  readonly decision: RoutingDecision;
  readonly snapshot: Snapshot;
}

/** The record while it is filled in. */
type OpenRecord = Writable<Omit<RequestRecord, "attempts" | "timings">> & {
  readonly attempts: AttemptRecord[];
  readonly timings: Writable<RequestRecord["timings"]>;
};

/** Fills in the record of one request and appends it when the request ends: once, at the first end. */
export class RequestRecorder {
  readonly decisionId: string;
  readonly attempts: AttemptRecord[] = [];
  readonly #clock: Clock;
  readonly #append: (record: RequestRecord) => void;
  /** All but the decision, which it gets with `recordDecision`. Not the request itself: its conversation would live as long as its answer. */
  readonly #record: Omit<OpenRecord, "decision"> & { decision?: RoutingDecision };
  #finished = false;

  constructor(
    { requestId, alias, stream, surcharge, key }: ChatRequest,
    { clock, newId, record }: Pick<Ports, "clock" | "newId" | "record">,
    priceVersion: string | undefined,
  ) {
    this.decisionId = newId();
    this.#clock = clock;
    this.#append = record;
    this.#record = {
      requestId,
      decisionId: this.decisionId,
      // Of the same moment, so that their sum with a duration is when something happened.
      atMs: clock.now(),
      begunMs: clock.monotonic(),
      alias,
      stream,
      status: 200,
      outcome: "answered",
      answeredBy: null,
      attempts: this.attempts,
      costNanoUsd: saturatedUsd(0),
      redactions: [],
      timings: { decisionMs: 0, totalMs: 0 },
    };
    if (key !== undefined) this.#record.label = key.label;
    if (priceVersion !== undefined) this.#record.priceVersion = priceVersion;
    if (surcharge !== undefined) this.#record.forwardedFields = surcharge.fields;
  }

  /** The privacy gate has finished. */
  recordGate(): void {
    this.#record.timings.gateMs = this.#elapsedMs();
  }

  /** `decision`: as the caller sees it; `decided`: what it was made of. The last call counts. */
  recordDecision(
    decision: RoutingDecision,
    decided: RoutedDecision,
    { request, assessment, redacted }: Omit<RequestContext, "recorder">,
  ): void {
    const record = this.#record;
    const { routing } = request;
    const { task, runtime, features, housekeeping, conversationKey, continuation } = assessment;
    if (record.decision === undefined) record.timings.decisionMs = this.#elapsedMs();
    record.decision = decision;
    record.redactions = byRule(findingsIn(redacted));
    record.routed = {
      decision: decided.decision,
      // The instruction is part of the conversation, which would live as long as the answer takes.
      task: { ...task, instruction: "" },
      runtime,
      snapshot: decided.snapshot,
      features,
      housekeeping,
      conversationKey,
      continuation,
      sessionId: routing.sessionId,
      namesTask: routing.taskId !== undefined,
      reportedFailure: isReported(routing),
    };
  }

  /** The ledger has refused the hold of the decided model: the decision became `denied`. */
  recordLedgerRefusal(denied: RoutingDecision, ledgerSpend: SpendView): void {
    this.#record.decision = denied;
    const { routed } = this.#record;
    if (routed !== undefined) this.#record.routed = { ...routed, decision: denied, ledgerSpend };
  }

  recordAnswer(model: ModelKey, firstTokenMs: number): void {
    this.#record.answeredBy = model;
    this.#record.timings.firstTokenMs = firstTokenMs;
  }

  /** The record, as far as it is known; undefined before the decision. */
  recorded(): RequestRecord | undefined {
    if (!this.#finished) this.#addTotals();
    return isDecided(this.#record) ? this.#record : undefined;
  }

  finish(outcome: RequestOutcome, status: number, errorCode?: string): void {
    const record = this.#record;
    if (this.#finished || !isDecided(record)) return;
    this.#finished = true;
    record.outcome = outcome;
    record.status = status;
    if (errorCode !== undefined) record.errorCode = errorCode;
    this.#addTotals();
    this.#append(record);
  }

  #addTotals(): void {
    let cost = 0;
    for (const attempt of this.attempts) cost += attempt.costNanoUsd ?? 0;
    this.#record.costNanoUsd = saturatedUsd(cost);
    // Whole microseconds: as many digits as a clock has take several times the place in the stored record.
    this.#record.timings.totalMs = Math.round(this.#elapsedMs() * 1_000) / 1_000;
  }

  #elapsedMs(): number {
    return this.#clock.monotonic() - this.#record.begunMs;
  }
}

function isDecided(record: { readonly decision?: RoutingDecision }): record is OpenRecord {
  return record.decision !== undefined;
}

function byRule(findings: readonly Finding[]): RequestRecord["redactions"] {
  if (findings.length === 0) return [];
  const counts = new Map<string, number>();
  for (const { rule, count } of findings) counts.set(rule, (counts.get(rule) ?? 0) + count);
  return [...counts].map(([rule, count]) => ({ rule, count }));
}
