import { recordWith, requestHead } from "#records/build-record.ts";
import type { DecisionRecord } from "#records/decision-record.ts";
import type { RequestRecord } from "#records/record.ts";
import { conversationName, factsOf, type RecordContext } from "#records/record-facts.ts";
import type { RecordEntry } from "#records/store/record-head.ts";
import { type FlatContent, flatContent, isNested } from "./earlier-values.ts";
import { attemptValues, readAttempt, readFacts, readRequest, requestValues } from "./request-values.ts";
import { readRouted, routedValues } from "./routed-values.ts";
import { ValueSource } from "./value-source.ts";

/** What is written of a request: the conversation's key until the salt of the store is known, then its name, and lists of values. */
type CompactContent = [
  conversation: string | null | undefined,
  request: readonly unknown[],
  attempts: readonly (readonly unknown[])[],
  routed: readonly unknown[] | null,
];

/**
 * The form in which a request's record waits and is written: lists of its values, without names, without what no record has and what
 * the snapshot shares with other requests. The decision record is made from it when it is read. Most records are never read, and
 * making one costs as much as routing a request. It holds no object that only its request has, so that all of them can be freed.
 */
export function compactRecord(request: RequestRecord, context: Omit<RecordContext, "salt">): RecordEntry {
  const facts = factsOf(request, context);
  const { routed, attempts, decision } = request;
  const content: CompactContent = [
    routed?.conversationKey,
    requestValues(request, facts),
    attempts.map((attempt) => attemptValues(attempt, request)),
    routed === undefined ? null : routedValues(routed, decision),
  ];
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
  const flat = isNested(content) ? flatContent(content) : (content as unknown as FlatContent);
  const [conversation, ofRequest, attempts, routed] = flat;
  const values = new ValueSource(ofRequest);
  const request = readRequest(values);
  return recordWith(
    {
      ...request,
      attempts: attempts.map((attempt) => readAttempt(new ValueSource(attempt), request.decisionId)),
      ...(routed === null ? {} : { routed: readRouted(new ValueSource(routed), request.decision) }),
    },
    { ...readFacts(values), conversation },
  );
}
