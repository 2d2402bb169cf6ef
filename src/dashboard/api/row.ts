import type { DecisionRow } from "#dashboard/schema/decisions.ts";
import type { DecisionRecord } from "#records/decision-record.ts";

/** A record as lists show it. */
export function rowOf(record: DecisionRecord): DecisionRow {
  const { attempts, redactions, tokens, timings } = record;
  return {
    seq: record.seq,
    decision_id: record.decision_id,
    request_id: record.request_id,
    at_ms: record.at_ms,
    recorded_ms: record.recorded_ms,
    session: record.session,
    goal: record.goal,
    alias: record.alias,
    action: record.action,
    model: record.model,
    served_by: record.served_by,
    tier: record.tier,
    status: record.status,
    outcome: record.outcome,
    refused_by: record.refused_by,
    error_class: record.error_class,
    cause: record.cause,
    rule: record.rule,
    kind: record.kind,
    score: record.score,
    attempts: attempts.length,
    redactions: redactions.reduce((sum, { count }) => sum + count, 0),
    cost_nano_usd: record.cost_nano_usd,
    hold_nano_usd: record.hold_nano_usd,
    cost_state: record.cost_state,
    prompt_tokens: tokens?.prompt ?? 0,
    completion_tokens: tokens?.completion ?? 0,
    first_token_ms: timings.first_token_ms,
    total_ms: timings.total_ms,
    stream: record.stream,
    repeated: record.repeated,
  };
}
