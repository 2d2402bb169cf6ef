import type { DecisionRecord } from "#records/decision-record.ts";

/** The fields of a record that are searched and summed. Beside the text the store needs nothing else. */
export type RecordHead = Pick<
  DecisionRecord,
  | "seq"
  | "recorded_ms"
  | "decision_id"
  | "request_id"
  | "session"
  | "goal"
  | "task"
  | "tier"
  | "cause"
  | "rule"
  | "kind"
  | "alias"
  | "action"
  | "outcome"
  | "status"
  | "refused_by"
  | "error_class"
  | "cost_nano_usd"
  | "cost_state"
  | "baseline_nano_usd"
  | "repeated"
> & {
  /** Key of the model that answered, else of the one chosen. */
  readonly model: string | null;
  readonly prompt_tokens: number;
  readonly cached_tokens: number;
  readonly completion_tokens: number;
  readonly first_token_ms: number | null;
};

/** A record to be written. */
export interface RecordEntry {
  readonly head: RecordHead;
  /** What `readContent` makes a record of: values such as JSON has, with `undefined` for what is absent. */
  readonly content: unknown;
}

export function headOf(record: DecisionRecord): RecordHead {
  const { tokens } = record;
  return {
    seq: record.seq,
    recorded_ms: record.recorded_ms,
    decision_id: record.decision_id,
    request_id: record.request_id,
    session: record.session,
    goal: record.goal,
    task: record.task,
    tier: record.tier,
    cause: record.cause,
    rule: record.rule,
    kind: record.kind,
    alias: record.alias,
    action: record.action,
    outcome: record.outcome,
    status: record.status,
    refused_by: record.refused_by,
    error_class: record.error_class,
    cost_nano_usd: record.cost_nano_usd,
    cost_state: record.cost_state,
    baseline_nano_usd: record.baseline_nano_usd,
    repeated: record.repeated,
    model: record.served_by ?? record.model,
    prompt_tokens: tokens?.prompt ?? 0,
    cached_tokens: tokens?.cached ?? 0,
    completion_tokens: tokens?.completion ?? 0,
    first_token_ms: record.timings.first_token_ms,
  };
}
