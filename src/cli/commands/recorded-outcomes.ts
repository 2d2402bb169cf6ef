import type { ModelRegistry } from "#domain/model.ts";
import { type OutcomeRecord, outcomesIn, type RoutedCall } from "#learning/outcomes.ts";
import { featureVector } from "#pipeline/decide/learned/feature-vector.ts";
import { propensityOf } from "#pipeline/decide/rules/exploration.ts";
import { shippedScoreOf } from "#pipeline/decide/rules/score.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import type { RecordStore } from "#records/store/record-store.ts";

/** The outcomes that the records from that moment on, in milliseconds since the epoch, and callers' reports show. */
export async function recordedOutcomes(
  store: RecordStore,
  fromMs: number,
  registry: ModelRegistry,
): Promise<readonly OutcomeRecord[]> {
  const calls: RoutedCall[] = [];
  for await (const records of store.export({ fromMs }))
    for (const record of records) {
      const call = routedCallIn(record, registry);
      if (call !== undefined) calls.push(call);
    }
  // Records are in the order in which requests ended.
  return outcomesIn(calls.toSorted((a, b) => a.atMs - b.atMs));
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
      kind,
      tier: role === "senior" ? "pro" : "flash",
      model: record.model ?? "",
      cause,
      score: shippedScoreOf({ score, evidence }),
      explored: cause === "exploration",
      probability: propensityOf({ cause, evidence }),
    },
  };
}
