import type { Clock } from "#platform/time.ts";
import { DecisionRecord } from "./decision-record.ts";

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
  readonly minute: number;
  count: number;
  /** Stands for those that have no record of their own. */
  shared?: DecisionRecord;
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
    const name = `${rejection.route} ${rejection.status} ${rejection.code ?? ""}`;
    if (this.#kinds.size >= maxKinds && !this.#kinds.has(name)) this.flush(Number.POSITIVE_INFINITY);
    else this.flush(nowMs, name);
    const kind = this.#kinds.get(name) ?? { minute: Math.floor(nowMs / minuteMs), count: 0 };
    this.#kinds.set(name, kind);
    kind.count += 1;
    if (kind.shared !== undefined) {
      kind.shared.repeated += 1;
      kind.shared.recorded_ms = nowMs;
      kind.shared.request_id = rejection.requestId;
      return;
    }
    const record = recordOf(rejection, this.#newId(), nowMs);
    if (kind.count > ownRecords) kind.shared = record;
    else this.#append(record);
  }

  /** Writes the shared records of the minutes that ended before `beforeMs`: of one kind, or of all. */
  flush(beforeMs = this.#clock.now(), only?: string): void {
    for (const name of only === undefined ? this.#kinds.keys() : [only]) {
      const kind = this.#kinds.get(name);
      if (kind === undefined || kind.minute >= Math.floor(beforeMs / minuteMs)) continue;
      if (kind.shared !== undefined) this.#append(kind.shared);
      this.#kinds.delete(name);
    }
  }
}

/** A record in which each field is null, empty or 0, as its schema allows: there was no decision. */
const blank = Object.fromEntries(
  Object.entries(DecisionRecord.shape).map(([name, schema]) => [
    name,
    [null, [], {}, false, 0].find((empty) => schema.safeParse(empty).success),
  ]),
);

function recordOf({ requestId, route, status, code }: Rejection, decisionId: string, atMs: number): DecisionRecord {
  return {
    ...(blank as unknown as DecisionRecord), // but for the fields below, which may not be empty
    at_ms: atMs,
    recorded_ms: atMs,
    decision_id: decisionId,
    request_id: requestId,
    route,
    status,
    outcome: status >= 500 && status !== 503 ? "failed" : "refused",
    refused_by: "gateway",
    error_class: code ?? null,
    timings: { gate_ms: null, decision_ms: null, ledger_ms: null, first_token_ms: null, total_ms: 0 },
    cost_state: "known",
    repeated: 1,
  };
}
