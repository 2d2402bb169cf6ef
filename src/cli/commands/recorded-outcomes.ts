import type { ModelRegistry } from "#domain/model.ts";
import { outcomesIn, type RoutedCall } from "#learning/outcomes.ts";
import { type ProseCall, proseBound } from "#learning/prose-bound.ts";
import { featureVector } from "#pipeline/decide/learned/learned-score.ts";
import { propensityOf } from "#pipeline/decide/rules/affinity.ts";
import { shippedScoreOf } from "#pipeline/decide/rules/score.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import type { RecordStore } from "#records/store/record-store.ts";

/**
 * What the records show from a moment on, and callers' reports: the outcomes of asks, and what the worker model's runs wrote.
 * @param fromMs in milliseconds since the epoch
 * @param proseCalls over how many calls prose was summed up
 */
export async function readRecorded(store: RecordStore, fromMs: number, registry: ModelRegistry, proseCalls: number) {
  const calls: (RoutedCall & ProseCall)[] = [];
  for await (const records of store.export({ fromMs }))
    for (const record of records) {
      const call = routedCallIn(record, registry);
      if (call !== undefined) calls.push({ ...call, model: call.decision.model, prose: record.inputs?.prose ?? 0 });
    }
  // Records are in the order in which requests ended.
  calls.sort((a, b) => a.atMs - b.atMs);
  return { outcomes: outcomesIn(calls), prose: proseBound(calls, registry.byRole.worker?.key ?? "", proseCalls) };
}

/** The call that a record stands for; undefined where nothing was routed to flash or pro, and for housekeeping, which teaches nothing. */
function routedCallIn(record: DecisionRecord, registry: ModelRegistry): RoutedCall | undefined {
  const { inputs, cause, kind, conversation, housekeeping, features, evidence, score } = record;
  const role = registry.models.get(record.model ?? "")?.role;
  if (inputs === null || cause === null || kind === null || score === null || conversation === null) return undefined;
  if (housekeeping !== null || (role !== "worker" && role !== "senior")) return undefined;
  return {
    decisionId: record.decision_id,
    atMs: record.at_ms,
    conversation,
    continuation: inputs.continuation,
    hardRule: record.rule !== null,
    reportedFailure: inputs.reported_failure,
    ...(record.reported === null ? {} : { outcome: record.reported.outcome }),
    decision: {
      features: featureVector(inputs.task, features),
      tier: role === "senior" ? "pro" : "flash",
      model: record.model ?? "",
      cause,
      score: shippedScoreOf({ score, evidence }),
      probability: propensityOf({ cause, evidence }),
    },
  };
}
