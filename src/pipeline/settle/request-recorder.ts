import type { ChatRequest } from "#domain/chat.ts";
import type { ModelKey } from "#domain/model.ts";
import { saturatedUsd } from "#domain/money/money.ts";
import type { RoutingDecision } from "#domain/routing.ts";
import type { Clock } from "#platform/time.ts";
import type { Finding } from "#privacy/redaction.ts";
import type { AttemptRecord, RequestOutcome, RequestRecord } from "#records/record.ts";

/** Collects the events of one request and appends its record when it ends: once, at the first end. */
export class RequestRecorder {
  readonly decisionId: string;
  readonly attempts: AttemptRecord[] = [];
  /** Not the request itself, whose conversation would live as long as its answer takes. */
  readonly #request: Pick<ChatRequest, "requestId" | "receivedAtMs" | "alias" | "stream" | "surcharge">;
  readonly #clock: Clock;
  readonly #append: (record: RequestRecord) => void;
  readonly #begunMs: number;
  readonly #priceVersion: string | undefined;
  #decision: RoutingDecision | undefined;
  #decisionMs = 0;
  #findings: readonly Finding[] = [];
  #firstTokenMs: number | undefined;
  #answeredBy: ModelKey | null = null;
  #ended = false;

  constructor(
    request: ChatRequest,
    decisionId: string,
    clock: Clock,
    append: (record: RequestRecord) => void,
    priceVersion?: string,
  ) {
    const { requestId, receivedAtMs, alias, stream, surcharge } = request;
    this.#request = { requestId, receivedAtMs, alias, stream, ...(surcharge === undefined ? {} : { surcharge }) };
    this.decisionId = decisionId;
    this.#clock = clock;
    this.#append = append;
    this.#priceVersion = priceVersion;
    this.#begunMs = clock.monotonic();
  }

  recordDecision(decision: RoutingDecision, findings: readonly Finding[]): void {
    if (this.#decision === undefined) this.#decisionMs = this.#clock.monotonic() - this.#begunMs;
    this.#decision = decision;
    this.#findings = findings;
  }

  recordAnswer(model: ModelKey, firstTokenMs: number): void {
    this.#answeredBy = model;
    this.#firstTokenMs = firstTokenMs;
  }

  finish(outcome: RequestOutcome, status: number): void {
    if (this.#ended || this.#decision === undefined) return;
    this.#ended = true;
    let cost = 0;
    for (const attempt of this.attempts) cost += attempt.costNanoUsd ?? 0;
    this.#append({
      requestId: this.#request.requestId,
      decisionId: this.decisionId,
      atMs: this.#request.receivedAtMs,
      alias: this.#request.alias,
      stream: this.#request.stream,
      decision: this.#decision,
      status,
      outcome,
      answeredBy: this.#answeredBy,
      attempts: this.attempts,
      costNanoUsd: saturatedUsd(cost),
      ...(this.#priceVersion === undefined ? {} : { priceVersion: this.#priceVersion }),
      redactions: byRule(this.#findings),
      ...(this.#request.surcharge === undefined ? {} : { forwardedFields: this.#request.surcharge.fields }),
      timings: {
        decisionMs: this.#decisionMs,
        ...(this.#firstTokenMs === undefined ? {} : { firstTokenMs: this.#firstTokenMs }),
        totalMs: this.#clock.monotonic() - this.#begunMs,
      },
    });
  }
}

function byRule(findings: readonly Finding[]): { rule: string; count: number }[] {
  if (findings.length === 0) return [];
  const counts = new Map<string, number>();
  for (const { rule, count } of findings) counts.set(rule, (counts.get(rule) ?? 0) + count);
  return [...counts].map(([rule, count]) => ({ rule, count }));
}
