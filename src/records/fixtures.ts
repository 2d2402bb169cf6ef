import { nanoUsd } from "#domain/money/money.ts";
import type { DecisionRecord } from "./decision-record.ts";
import type { RequestRecord, RoutedInputs } from "./record.ts";
import { completeRecord, type StoredRecord } from "./stored-record.ts";

type DecidedFrom = Pick<RoutedInputs, "task" | "runtime" | "snapshot" | "features" | "decision"> &
  Partial<Pick<RoutedInputs, "ledgerSpend">>;

/** A request that was decided from these inputs, and answered without an attempt. */
export function aRequestRecord(decidedFrom: DecidedFrom, given: Partial<RequestRecord> = {}) {
  return {
    requestId: "r",
    decisionId: "d",
    atMs: 0,
    begunMs: 0,
    alias: "smart-router",
    stream: false,
    decision: decidedFrom.decision,
    status: 200,
    outcome: "answered",
    answeredBy: null,
    attempts: [],
    costNanoUsd: nanoUsd(0),
    redactions: [],
    timings: { decisionMs: 0, totalMs: 0 },
    ...given,
    routed: {
      housekeeping: undefined,
      conversationKey: "",
      sessionId: undefined,
      namesTask: false,
      continuation: false,
      reportedFailure: false,
      ...decidedFrom,
    },
  } satisfies RequestRecord;
}

/** A record of an answered request that went to the flash model by its score; `seq` and id differ from record to record. */
export function aDecisionRecord(index: number, given: Partial<DecisionRecord> = {}): DecisionRecord {
  return { ...completeRecord(aStoredRecord(index, given.recorded_ms)), ...given };
}

/** The same as it is built: without what a reader fills in. */
export function aStoredRecord(index: number, recordedMs?: number): StoredRecord {
  const atMs = recordedMs ?? 1_790_000_000_000 + index;
  const dimensions = {
    reasoning_requirement: 0.3,
    ambiguity: 0.3,
    dependency_depth: 0.3,
    verification_difficulty: 0.3,
  };
  return {
    seq: atMs * 1024,
    at_ms: atMs - 900,
    recorded_ms: atMs,
    decision_id: `d${index}`,
    request_id: `r${index}`,
    session: "s1",
    goal: "s1/refactor",
    conversation: "c1",
    alias: "smart-router",
    action: "ROUTE",
    model: "vendor_v4_flash",
    served_by: "vendor_v4_flash",
    upstream_model: "vendor/v4-flash",
    status: 200,
    outcome: "answered",
    cause: "score_flash",
    kind: "CODING",
    tier: "flash",
    score: 22.5,
    confidence: 0.9,
    contributions: [{ name: "ambiguity", value: 4.5 }],
    points: 22.5,
    thresholds: { flash_below: 90, pro_from: 97 },
    inputs: {
      task: dimensions,
      runtime: {},
      size: { input_tokens_bound: 400, input_tokens_estimate: 90, requested_output_tokens: null, choices: 1 },
      spend: { goal: { spent: 0, held: 0 }, day: { spent: 0, held: 0 } },
      scale: "chat",
    },
    features: { words: 12 },
    evidence: ["kind=CODING", "score=22.5"],
    attempts: [
      {
        number: 2,
        model: "vendor_v4_flash",
        outcome: "answered",
        started_ms: 2,
        first_token_ms: 300,
        duration_ms: 890,
        hold_nano_usd: 9_000_000,
        cost_nano_usd: 40_000,
        cost_source: "usage",
        tokens: { prompt: 100, cached: 0, cache_write: 0, completion: 50, reasoning: 0 },
      },
    ],
    timings: { gate_ms: 0.1, decision_ms: 0.3, ledger_ms: 1.5, first_token_ms: 300, total_ms: 895 },
    cost_nano_usd: 40_000,
    baseline_nano_usd: 90_000,
    price_version: "p1",
    policy_hash: "h1",
  };
}
