import type { Cause, Outcome, TaskKind } from "#domain/routing.ts";

/**
 * The outcomes of routed asks, read offline from decision records: what later calls of a conversation and callers' reports show of an
 * answer.
 */

/** What was decided for a new ask. */
export interface DecisionPart {
  /** In the order of `featureNames`. */
  readonly features: readonly number[];
  readonly kind: TaskKind;
  readonly tier: "flash" | "pro";
  readonly model: string;
  readonly cause: Cause;
  readonly score: number;
  /** Whether the tier was drawn against the score, and with what probability this tier was to be chosen. */
  readonly explored: boolean;
  readonly probability: number;
  /** The decision of the same conversation whose failure this ask follows. */
  readonly retryOf?: string;
}

/** What later calls of the conversation have shown of the ask. */
export interface Signals {
  /** Failures that the caller has reported (`X-Failure-Class`, `X-Same-Error-Count`). */
  readonly reported: number;
  /** The run has met a hard rule and gone from flash to pro. */
  readonly escalated: boolean;
  /** Failures reported after that. */
  readonly failedAfter: number;
  /** The same ask came again soon. */
  readonly repeated: number;
  /** Another ask came, and no failure with it. */
  readonly wentOn: boolean;
}
export const noSignals: Signals = { reported: 0, escalated: false, failedAfter: 0, repeated: 0, wentOn: false };

/** One routed ask with its outcome. */
export interface OutcomeRecord {
  readonly decisionId: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly decision: DecisionPart;
  readonly signals: Signals;
  readonly outcome?: Outcome;
}

/** A chat request that was routed to flash or pro; no housekeeping. */
export interface RoutedCall {
  readonly decisionId: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly conversation: string;
  /** Whether it is a further turn of an ask; it then gets no record of its own. */
  readonly continuation: boolean;
  /** A hard rule sent it to pro. */
  readonly hardRule: boolean;
  /** The caller has reported a failure with it. */
  readonly reportedFailure: boolean;
  /** What the caller has reported of it. */
  readonly outcome?: Outcome;
  readonly decision: DecisionPart;
}

/** An ask without a request for this long has ended; later requests are no signals about it. */
const openMs = 3_600_000;
/** The same ask within this time is taken for a repeat: the answer was no good. */
const repeatMs = 600_000;

interface OpenAsk {
  record: OutcomeRecord;
  lastSeenMs: number;
}

/** The outcomes of the asks among these calls, in the order of the calls, which are the oldest first. */
export function outcomesIn(calls: Iterable<RoutedCall>): readonly OutcomeRecord[] {
  const asks: OpenAsk[] = [];
  const open = new Map<string, OpenAsk>();
  for (const call of calls) {
    const known = open.get(call.conversation);
    const before = known !== undefined && call.atMs - known.lastSeenMs <= openMs ? known : undefined;
    const reported = call.outcome === undefined ? {} : { outcome: call.outcome };
    if (call.continuation) {
      if (before === undefined) continue;
      before.record = { ...before.record, ...reported, signals: signalsInRun(before.record, call) };
      before.lastSeenMs = call.atMs;
      continue;
    }
    const repeated = before !== undefined && isRepeat(before, call);
    if (before !== undefined) {
      before.record = { ...before.record, signals: signalsAtNextAsk(before.record, call, repeated) };
      before.lastSeenMs = call.atMs;
    }
    const follows = before !== undefined && (repeated || call.reportedFailure);
    const ask: OpenAsk = {
      record: {
        decisionId: call.decisionId,
        atMs: call.atMs,
        decision: follows ? { ...call.decision, retryOf: before.record.decisionId } : call.decision,
        signals: noSignals,
        ...reported,
      },
      lastSeenMs: call.atMs,
    };
    open.set(call.conversation, ask);
    asks.push(ask);
  }
  return asks.map(({ record }) => record);
}

/** Asks are compared by their counts: two asks of one conversation that have all of them in common are the same. */
function isRepeat({ record, lastSeenMs }: OpenAsk, { atMs, decision }: RoutedCall): boolean {
  return atMs - lastSeenMs <= repeatMs && record.decision.features.join() === decision.features.join();
}

/** The signals after a further turn of the ask. */
function signalsInRun({ decision, signals }: OutcomeRecord, call: RoutedCall): Signals {
  const escalates = call.hardRule && call.decision.tier === "pro" && decision.tier === "flash" && !signals.escalated;
  return {
    ...signals,
    escalated: signals.escalated || escalates,
    reported: signals.reported + (call.reportedFailure ? 1 : 0),
    failedAfter: signals.failedAfter + (call.reportedFailure && signals.escalated ? 1 : 0),
  };
}

/** The signals after the conversation's next ask. */
function signalsAtNextAsk({ signals }: OutcomeRecord, { reportedFailure }: RoutedCall, repeated: boolean): Signals {
  const failed = reportedFailure || repeated;
  return {
    ...signals,
    reported: signals.reported + (reportedFailure ? 1 : 0),
    failedAfter: signals.failedAfter + (failed && signals.escalated ? 1 : 0),
    repeated: signals.repeated + (repeated ? 1 : 0),
    wentOn: !failed,
  };
}
