import { recordWith, requestHead } from "#records/build-record.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import type { RequestRecord } from "#records/record.ts";
import { conversationName, factsOf, type RecordContext } from "#records/record-facts.ts";
import type { RecordEntry } from "#records/store/record-head.ts";
import { attemptFrom, attemptValues, requestFrom, requestValues } from "./request-values.ts";
import { routedFrom, routedValues } from "./routed-values.ts";

type CompactValues = ReturnType<typeof compactValues>;
type Facts = ReturnType<typeof factsOf>;

/** What is written of a request: the conversation's key until the salt of the store is known, then its name, and the values. */
type CompactContent = [conversation: string | null | undefined, ...CompactValues];

/**
 * The form in which a request's record waits and is written: lists of its values, without names, without what no record has and what
 * the snapshot shares with other requests. The decision record is made from it when it is read. Most records are never read, and
 * making one costs as much as routing a request. It holds no object that only its request has, so that all of them can be freed.
 */
export function compactRecord(request: RequestRecord, context: Omit<RecordContext, "salt">): RecordEntry {
  const facts = factsOf(request, context);
  const content: CompactContent = [request.routed?.conversationKey, ...compactValues(request, facts)];
  return { head: requestHead(request, facts), content };
}

/** Puts the conversation's name in the place of its key. To be called once, before the entry is written or read. */
export function nameConversation({ content }: RecordEntry, salt: number): void {
  if (!Array.isArray(content)) return;
  const values = content as CompactContent; // all entries that are no records are from `compactRecord`
  values[0] = conversationName(values[0] ?? undefined, salt);
}

/** The record that the content of an entry stands for. */
export function readContent(content: unknown): DecisionRecord {
  // Only this program writes it: a record itself, or what `compactRecord` has made of a request.
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
  const { routed, attempts, decision } = request;
  return [
    requestValues(request),
    attempts.map((attempt) => attemptValues(attempt, request)),
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
