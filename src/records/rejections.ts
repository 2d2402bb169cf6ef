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

/** This many rejections of a kind have a record each until the next flush; the others share one. */
const ownRecords = 20;
/** A kind is a route with a status and a code. All three are our own words, so there are few. */
const maxKinds = 500;

/** Makes the records of rejections. Of a flood of one kind most share one record, which is written by the next flush. */
export class RejectionRecords {
  readonly #clock: Pick<Clock, "now">;
  readonly #newId: () => string;
  readonly #append: (record: DecisionRecord) => void;
  readonly #kinds = new Map<string, { count: number; shared?: DecisionRecord }>();

  constructor(clock: Pick<Clock, "now">, newId: () => string, append: (record: DecisionRecord) => void) {
    this.#clock = clock;
    this.#newId = newId;
    this.#append = append;
  }

  add(rejection: Rejection): void {
    const nowMs = this.#clock.now();
    const name = `${rejection.route} ${rejection.status} ${rejection.code ?? ""}`;
    if (this.#kinds.size >= maxKinds && !this.#kinds.has(name)) this.flush();
    const kind = this.#kinds.get(name) ?? { count: 0 };
    this.#kinds.set(name, kind);
    kind.count += 1;
    if (kind.shared !== undefined) {
      kind.shared.repeated += 1;
      kind.shared.recorded_ms = nowMs;
      kind.shared.request_id = rejection.requestId;
    } else if (kind.count > ownRecords) kind.shared = recordOf(rejection, this.#newId(), nowMs);
    else this.#append(recordOf(rejection, this.#newId(), nowMs));
  }

  flush(): void {
    for (const { shared } of this.#kinds.values()) if (shared !== undefined) this.#append(shared);
    this.#kinds.clear();
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
