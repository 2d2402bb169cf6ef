import { type DecisionFilter, noValue } from "#dashboard/schema/shared.ts";
import { boundedId } from "#records/record-facts.ts";
import type { RecordFilter, RollupFilter } from "#records/records.ts";

/** Alternatives, comma-separated; the store writes no value as "". */
function alternatives(text: string | undefined): readonly string[] | undefined {
  if (text === undefined || text === "") return undefined;
  return text.split(",").map((value) => (value === noValue ? "" : value));
}

type Named = { readonly [K in keyof RecordFilter]: RecordFilter[K] | undefined };

/** The filter of a call as the records take it. */
export function recordFilterOf(filter: DecisionFilter): RecordFilter {
  const named: Named = {
    ...namedRollupFields(filter),
    fromMs: filter.from_ms,
    toMs: filter.to_ms,
    goal: filter.goal === undefined ? undefined : boundedId(filter.goal),
    session: filter.session === undefined ? undefined : boundedId(filter.session),
    rule: filter.rule,
    requestId: filter.request_id,
    alias: alternatives(filter.alias),
    kind: alternatives(filter.kind),
    action: alternatives(filter.action),
    errorClass: alternatives(filter.error_class),
    costState: alternatives(filter.cost_state),
  };
  return withoutAbsent(named);
}

function namedRollupFields(filter: DecisionFilter): {
  readonly [K in keyof RollupFilter]: RollupFilter[K] | undefined;
} {
  return {
    cause: alternatives(filter.cause),
    model: alternatives(filter.model),
    tier: alternatives(filter.tier),
    status: alternatives(filter.status),
    outcome: alternatives(filter.outcome),
    refusedBy: alternatives(filter.refused_by),
  };
}

/** The same for roll-ups; undefined when it names what they do not have. */
export function rollupFilterOf(filter: DecisionFilter): RollupFilter | undefined {
  const { fromMs: _, toMs: __, cause, model, tier, status, outcome, refusedBy, ...others } = recordFilterOf(filter);
  if (Object.keys(others).length > 0) return undefined;
  return withoutAbsent({ cause, model, tier, status, outcome, refusedBy });
}

function withoutAbsent<T extends object>(named: { readonly [K in keyof T]: T[K] | undefined }): T {
  // Every field of a filter may be absent.
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined && value !== "")) as T;
}
