import type { Clock } from "#platform/time.ts";
import type { StoredRecord } from "./stored-record.ts";

/** A request that was answered with an error before there was a decision. */
export interface Rejection {
  readonly requestId: string;
  /** The endpoint; one of a few names. */
  readonly route: string;
  readonly status: number;
  /** `error.code`; one of a few. Undefined: only the status is known. */
  readonly code: string | undefined;
  /** The field or header at fault, what stood in `model`, and the label of the caller's key, as far as they are known. */
  readonly param?: string | undefined;
  readonly model?: string | undefined;
  readonly label?: string | undefined;
}

/** This many rejections of a kind have a record each until the next flush; the others share one. */
const ownRecords = 20;

/** Makes the records of rejections. Of a flood of one kind most share one record, which is written by the next flush. */
export function rejectionRecords(
  clock: Pick<Clock, "now">,
  newId: () => string,
  append: (record: StoredRecord) => void,
) {
  /** By route, status, code and label. All are our own words or the operator's, so there are few. */
  const kinds = new Map<string, { count: number; shared?: StoredRecord }>();
  return {
    add(rejection: Rejection): void {
      const nowMs = clock.now();
      const name = `${rejection.route} ${rejection.status} ${rejection.code ?? ""} ${rejection.label ?? ""}`;
      const kind = kinds.get(name) ?? { count: 0 };
      kinds.set(name, kind);
      kind.count += 1;
      if (kind.count <= ownRecords) append(rejectionRecord(rejection, newId(), nowMs));
      else if (kind.shared === undefined) kind.shared = rejectionRecord(rejection, newId(), nowMs);
      else {
        kind.shared.repeated = (kind.shared.repeated ?? 1) + 1;
        kind.shared.recorded_ms = nowMs;
        kind.shared.request_id = rejection.requestId;
      }
    },
    flush(): void {
      for (const { shared } of kinds.values()) if (shared !== undefined) append(shared);
      kinds.clear();
    },
  };
}

function rejectionRecord(
  { requestId, route, status, code, param, model, label }: Rejection,
  decisionId: string,
  atMs: number,
): StoredRecord {
  return {
    seq: 0,
    at_ms: atMs,
    recorded_ms: atMs,
    decision_id: decisionId,
    request_id: requestId,
    route,
    status,
    outcome: status >= 500 && status !== 503 ? "failed" : "refused",
    refused_by: "gateway",
    error_class: code,
    error_param: param,
    asked_model: model,
    label,
    attempts: [],
    timings: { total_ms: 0 },
    cost_nano_usd: 0,
  };
}
