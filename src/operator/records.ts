import type { DecisionRecord, ExplainedDecision } from "#records/decision-record.ts";
import { explain } from "#records/explain/explain.ts";
import { readConfiguration } from "#records/replay/replay.ts";
import type { RecordStore } from "#records/store/record-store.ts";

/** A record with its explanation, by decision id or request id; undefined where there is none. */
export async function explainedRecord(
  store: Pick<RecordStore, "get" | "config">,
  id: string,
): Promise<ExplainedDecision | undefined> {
  const record = await store.get(id);
  if (record === undefined) return undefined;
  const config = record.policy_hash === null ? undefined : await store.config(record.policy_hash);
  return { ...record, explanation: explain(record, readConfiguration(config)) };
}

/** A record as lists and the live feed show it: without the explanation. `before` and `Last-Event-ID` are its `seq`. */
export function decisionRow(record: DecisionRecord) {
  const { contributions, inputs, features, evidence, thresholds, health, attempts, tokens, timings, ...columns } =
    record;
  return {
    ...columns,
    attempts: attempts.length,
    redactions: record.redactions.reduce((sum, { count }) => sum + count, 0),
    prompt_tokens: tokens?.prompt ?? 0,
    completion_tokens: tokens?.completion ?? 0,
    first_token_ms: timings.first_token_ms,
    total_ms: timings.total_ms,
  };
}
export type DecisionRow = ReturnType<typeof decisionRow>;
