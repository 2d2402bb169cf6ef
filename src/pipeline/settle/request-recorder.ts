import type { ChatRequest } from "#domain/chat.ts";
import type { LearnedWeights } from "#domain/learned-weights.ts";
import type { ModelKey } from "#domain/model.ts";
import { saturatedUsd } from "#domain/money/money.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import type { Writable } from "#domain/writable.ts";
import type { Assessment } from "#pipeline/assess/assess.ts";
import { isReported } from "#pipeline/assess/task/runtime.ts";
import type { Snapshot, SpendView } from "#pipeline/decide/snapshot.ts";
import type { Clock } from "#platform/time.ts";
import type { Finding } from "#privacy/redaction.ts";
import type { AttemptRecord, RequestOutcome, RequestRecord, RoutedInputs } from "#records/record.ts";

/** Collects the events of one request and appends its record when it ends: once, at the first end. */
export class RequestRecorder {
  readonly decisionId: string;
  readonly attempts: AttemptRecord[] = [];
  /** Not the request itself, whose conversation would live as long as its answer takes. */
  readonly #request: Writable<Pick<ChatRequest, "requestId" | "alias" | "stream" | "surcharge">>;
  readonly #sessionId: string | undefined;
  readonly #namesTask: boolean;
  readonly #reportedFailure: boolean;
  readonly #clock: Clock;
  readonly #append: (record: RequestRecord) => void;
  readonly #begunMs: number;
  readonly #atMs: number;
  readonly #priceVersion: string | undefined;
  #decision: RoutingDecision | undefined;
  #routed: RoutedInputs | undefined;
  #gateMs: number | undefined;
  #decisionMs = 0;
  #findings: readonly Finding[] = noFindings;
  #firstTokenMs: number | undefined;
  #answeredBy: ModelKey | null = null;
  #finished: RequestRecord | undefined;

  constructor(
    request: ChatRequest,
    decisionId: string,
    clock: Clock,
    append: (record: RequestRecord) => void,
    priceVersion?: string,
  ) {
    const { requestId, alias, stream, surcharge } = request;
    this.#request = { requestId, alias, stream };
    if (surcharge !== undefined) this.#request.surcharge = surcharge;
    this.#sessionId = request.routing.sessionId;
    this.#namesTask = request.routing.taskId !== undefined;
    this.#reportedFailure = isReported(request.routing);
    this.decisionId = decisionId;
    this.#clock = clock;
    this.#append = append;
    this.#priceVersion = priceVersion;
    this.#begunMs = clock.monotonic();
    // Of the same moment, so that their sum with a duration is when something happened.
    this.#atMs = clock.now();
  }

  recordDecision(decision: RoutingDecision, findings: readonly Finding[]): void {
    if (this.#decision === undefined) this.#decisionMs = this.#clock.monotonic() - this.#begunMs;
    this.#decision = decision;
    this.#findings = findings;
  }

  /** The privacy gate has finished. */
  recordGate(): void {
    this.#gateMs = this.#clock.monotonic() - this.#begunMs;
  }

  /**
   * What the decision was made of; the last call counts. The instruction is left out, because the conversation would live as
   * long as the answer takes.
   */
  recordRouting(
    { task, runtime, features, housekeeping, conversationKey, continuation }: Assessment,
    { decision, snapshot }: { readonly decision: RoutingDecision; readonly snapshot: Snapshot },
    learned: LearnedWeights | undefined,
  ): void {
    this.#routed = {
      decision,
      task: {
        task_id: task.task_id,
        goal_id: task.goal_id,
        kind: task.kind,
        explicit_route: task.explicit_route,
        reasoning: task.reasoning,
        sensitive: task.sensitive,
        repo_context_present: task.repo_context_present,
        repo_free_opt_in: task.repo_free_opt_in,
        risk_level: task.risk_level,
        blast_radius: task.blast_radius,
        reasoning_requirement: task.reasoning_requirement,
        ambiguity: task.ambiguity,
        dependency_depth: task.dependency_depth,
        verification_difficulty: task.verification_difficulty,
        estimated_tool_depth: task.estimated_tool_depth,
        metadata: task.metadata,
      },
      runtime,
      snapshot,
      features,
      housekeeping,
      conversationKey,
      continuation,
      reportedFailure: this.#reportedFailure,
      learned,
      sessionId: this.#sessionId,
      namesTask: this.#namesTask,
    };
  }

  /** The ledger has refused the hold of the decided model: the decision became `denied`. */
  recordLedgerRefusal(denied: RoutingDecision, ledgerSpend: SpendView): void {
    if (this.#routed !== undefined) this.#routed = { ...this.#routed, decision: denied, ledgerSpend };
  }

  recordAnswer(model: ModelKey, firstTokenMs: number): void {
    this.#answeredBy = model;
    this.#firstTokenMs = firstTokenMs;
  }

  /** The record, as far as it is known; undefined before the decision. */
  recorded(): RequestRecord | undefined {
    return (
      this.#finished ?? (this.#decision === undefined ? undefined : this.#recordOf(this.#decision, "answered", 200))
    );
  }

  finish(outcome: RequestOutcome, status: number, errorCode?: string): void {
    if (this.#finished !== undefined || this.#decision === undefined) return;
    this.#finished = this.#recordOf(this.#decision, outcome, status, errorCode);
    this.#append(this.#finished);
  }

  #recordOf(decision: RoutingDecision, outcome: RequestOutcome, status: number, errorCode?: string): RequestRecord {
    let cost = 0;
    for (const attempt of this.attempts) cost += attempt.costNanoUsd ?? 0;
    const timings: Writable<RequestRecord["timings"]> = {
      decisionMs: this.#decisionMs,
      // Whole microseconds: as many digits as a clock has take several times the place in the stored record.
      totalMs: Math.round((this.#clock.monotonic() - this.#begunMs) * 1_000) / 1_000,
    };
    if (this.#gateMs !== undefined) timings.gateMs = this.#gateMs;
    if (this.#firstTokenMs !== undefined) timings.firstTokenMs = this.#firstTokenMs;
    // One literal, and what is rare added to it: spreads cost several times as much.
    const record: Writable<RequestRecord> = {
      requestId: this.#request.requestId,
      decisionId: this.decisionId,
      atMs: this.#atMs,
      begunMs: this.#begunMs,
      alias: this.#request.alias,
      stream: this.#request.stream,
      decision,
      status,
      outcome,
      answeredBy: this.#answeredBy,
      attempts: this.attempts,
      costNanoUsd: saturatedUsd(cost),
      redactions: byRule(this.#findings),
      timings,
    };
    if (this.#routed !== undefined) record.routed = this.#routed;
    if (this.#priceVersion !== undefined) record.priceVersion = this.#priceVersion;
    if (errorCode !== undefined) record.errorCode = errorCode;
    if (this.#request.surcharge !== undefined) record.forwardedFields = this.#request.surcharge.fields;
    return record;
  }
}

const noFindings: readonly Finding[] = [];

function byRule(findings: readonly Finding[]): { rule: string; count: number }[] {
  if (findings.length === 0) return [];
  const counts = new Map<string, number>();
  for (const { rule, count } of findings) counts.set(rule, (counts.get(rule) ?? 0) + count);
  return [...counts].map(([rule, count]) => ({ rule, count }));
}
