import type { Clock } from "#platform/time.ts";
import type { DecisionRecord } from "./decision-record.ts";

/** A request that was answered with an error before there was a decision. */
export interface Rejection {
  readonly requestId: string;
  /** The endpoint; one of a few names. */
  readonly route: string;
  readonly status: number;
  /** `error.code`; one of a few. Undefined: only the status is known. */
  readonly code: string | undefined;
}

/** This many rejections of a kind within a minute have a record each; the others share one. */
const ownRecords = 20;
/** A kind is a route with a status and a code. All three are our own words, so there are few. */
const maxKinds = 500;
const minuteMs = 60_000;

interface Kind {
  readonly first: Rejection;
  readonly minute: number;
  count: number;
  /** Rejections that share a record. */
  repeated: number;
  firstMs: number;
  lastMs: number;
  lastRequestId: string;
}

/** Makes the records of rejections. A flood of one kind becomes one record a minute. */
export class RejectionRecords {
  readonly #clock: Pick<Clock, "now">;
  readonly #newId: () => string;
  readonly #append: (record: DecisionRecord) => void;
  readonly #kinds = new Map<string, Kind>();

  constructor(clock: Pick<Clock, "now">, newId: () => string, append: (record: DecisionRecord) => void) {
    this.#clock = clock;
    this.#newId = newId;
    this.#append = append;
  }

  add(rejection: Rejection): void {
    const nowMs = this.#clock.now();
    const minute = Math.floor(nowMs / minuteMs);
    const name = `${rejection.route} ${rejection.status} ${rejection.code ?? ""}`;
    let kind = this.#kinds.get(name);
    if (kind !== undefined && kind.minute !== minute) {
      this.#finish(kind);
      kind = undefined;
    }
    if (kind === undefined) {
      if (this.#kinds.size >= maxKinds) this.flush(Number.POSITIVE_INFINITY);
      kind = { first: rejection, minute, count: 0, repeated: 0, firstMs: 0, lastMs: 0, lastRequestId: "" };
      this.#kinds.set(name, kind);
    }
    kind.count += 1;
    if (kind.count <= ownRecords) {
      this.#append(recordOf(rejection, this.#newId(), nowMs, nowMs, 1));
      return;
    }
    if (kind.repeated === 0) kind.firstMs = nowMs;
    kind.repeated += 1;
    kind.lastMs = nowMs;
    kind.lastRequestId = rejection.requestId;
  }

  /** Writes the shared records of the minutes that ended before `beforeMs`. */
  flush(beforeMs = this.#clock.now()): void {
    const minute = Math.floor(beforeMs / minuteMs);
    for (const [name, kind] of this.#kinds) {
      if (kind.minute >= minute) continue;
      this.#finish(kind);
      this.#kinds.delete(name);
    }
  }

  #finish({ first, repeated, firstMs, lastMs, lastRequestId }: Kind): void {
    if (repeated === 0) return;
    this.#append(recordOf({ ...first, requestId: lastRequestId }, this.#newId(), firstMs, lastMs, repeated));
  }
}

function recordOf(
  { requestId, route, status, code }: Rejection,
  decisionId: string,
  firstMs: number,
  lastMs: number,
  repeated: number,
): DecisionRecord {
  return {
    seq: 0,
    at_ms: firstMs,
    recorded_ms: lastMs,
    decision_id: decisionId,
    request_id: requestId,
    session: null,
    goal: null,
    task: null,
    conversation: null,
    generation_ids: [],
    route,
    alias: null,
    stream: false,
    action: null,
    model: null,
    served_by: null,
    upstream_model: null,
    upstream_host: null,
    status,
    outcome: status >= 500 && status !== 503 ? "failed" : "refused",
    refused_by: "gateway",
    error_class: code ?? null,
    cause: null,
    rule: null,
    kind: null,
    tier: null,
    score: null,
    confidence: null,
    sensitive_block_applied: false,
    contributions: [],
    points: null,
    thresholds: null,
    inputs: null,
    housekeeping: null,
    features: {},
    evidence: [],
    attempts: [],
    timings: { gate_ms: null, decision_ms: null, ledger_ms: null, first_token_ms: null, total_ms: 0 },
    tokens: null,
    hold_nano_usd: 0,
    cost_nano_usd: 0,
    cost_state: "known",
    cost_source: null,
    baseline_nano_usd: null,
    price_band: null,
    price_version: null,
    is_byok: null,
    forwarded_fields: [],
    redactions: [],
    health: {},
    policy_hash: null,
    reported: null,
    repeated,
  };
}
