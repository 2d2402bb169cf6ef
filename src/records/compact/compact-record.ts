import { recordWith, requestHead } from "#records/build-record.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import type { RequestRecord } from "#records/record.ts";
import { conversationName, factsOf, type RecordContext } from "#records/record-facts.ts";
import type { RecordEntry, RecordHead } from "#records/store/record-head.ts";
import { attemptFrom, attemptValues, requestFrom, requestValues } from "./request-values.ts";
import { routedFrom, routedValues } from "./routed-values.ts";

/**
 * The form in which a request's record is written: lists of its values, without names, without what no record has and what the
 * snapshot shares with other requests. The decision record is made from it when it is read. Most records are never read, and
 * making one costs as much as routing a request. It holds no object of the request, so that all of them can be freed.
 */
export interface CompactRecord {
  readonly head: RecordHead;
  readonly values: CompactValues;
  /** Undefined where nothing was routed. */
  readonly conversationKey: string | undefined;
}

type CompactValues = ReturnType<typeof compactValues>;
type Facts = ReturnType<typeof factsOf>;

/** All but the conversation's name, for which the salt of the store is needed. */
export function compactRecord(request: RequestRecord, context: Omit<RecordContext, "salt">): CompactRecord {
  const facts = factsOf(request, context);
  return {
    head: requestHead(request, facts),
    values: compactValues(request, facts),
    conversationKey: request.routed?.conversationKey,
  };
}

/** What is written of it. */
export function compactEntry({ head, values, conversationKey }: CompactRecord, salt: number): RecordEntry {
  const [request, attempts, facts, routed] = values;
  return { head, content: [conversationName(conversationKey, salt), request, attempts, facts, routed] };
}

/** The record that the content of an entry stands for. */
export function readContent(content: unknown): DecisionRecord {
  // Only this program writes it: a record itself, or what `compactEntry` has made of a request.
  if (!Array.isArray(content)) return content as DecisionRecord;
  const [conversation, request, attempts, facts, routed] = content as [string | null, ...CompactValues];
  const given = requestFrom(request);
  return recordWith(
    {
      ...given,
      attempts: attempts.map((attempt) => attemptFrom(attempt, given.decisionId)),
      ...(routed === null ? {} : { routed: routedFrom(routed, given.decision) }),
    },
    { ...factsFrom(facts), conversation },
  );
}

function compactValues(request: RequestRecord, facts: Facts) {
  const { routed, attempts, begunMs, decision } = request;
  return [
    requestValues(request),
    attempts.map((attempt) => attemptValues(attempt, begunMs)),
    factValues(facts),
    routed === undefined ? null : routedValues(routed, decision),
  ] as const;
}

function factValues({ policyHash, session, upstreamModel, tier, baseline, priceBand }: Facts) {
  return [policyHash, session, upstreamModel, tier, baseline, priceBand] as const;
}

function factsFrom(values: ReturnType<typeof factValues>): Facts {
  const [policyHash, session, upstreamModel, tier, baseline, priceBand] = values;
  return { policyHash, session, upstreamModel, tier, baseline, priceBand };
}
