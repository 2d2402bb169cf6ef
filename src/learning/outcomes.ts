import type { Cause, Outcome } from "#domain/routing.ts";

/**
 * The outcomes of routed asks, read offline from decision records: what later calls of a conversation and callers' reports show of an
 * answer.
 */

/** What was decided for a new ask. */
export interface DecisionPart {
  /** In the order of `featureNames`. */
  readonly features: readonly number[];
  readonly tier: "flash" | "pro";
  readonly model: string;
  readonly cause: Cause;
  readonly score: number;
  /** The probability with which this tier was to be chosen. */
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

/** A request that was routed to flash or pro. */
interface Routed {
  readonly decisionId: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  readonly decision: DecisionPart;
  /** What the caller has reported of it. */
  readonly outcome?: Outcome;
}

/** An ask with what followed. */
export interface OutcomeRecord extends Routed {
  readonly signals: Signals;
}

/** Any request of a conversation; no housekeeping. */
export interface RoutedCall extends Routed {
  readonly conversation: string;
  /** Whether it is a further turn of an ask; it then gets no record of its own. */
  readonly continuation: boolean;
  /** A hard rule sent it to pro. */
  readonly hardRule: boolean;
  /** The caller has reported a failure with it. */
  readonly reportedFailure: boolean;
}

/** An ask without a request for this long has ended; later requests are no signals about it. */
const openMs = 3_600_000;
/** The same ask within this time is taken for a repeat: the answer was no good. */
const repeatMs = 600_000;

/** The outcomes of the asks among these calls, in the order of the calls, which are the oldest first. */
export function outcomesIn(calls: Iterable<RoutedCall>): readonly OutcomeRecord[] {
  const asks: Open[] = [];
  const open = new Map<string, Open>();
  for (const call of calls) {
    const { conversation, continuation, reportedFailure, outcome, ...routed } = call;
    const known = open.get(conversation);
    const before = known !== undefined && call.atMs - known.lastSeenMs <= openMs ? known : undefined;
    const repeated = !continuation && before !== undefined && isRepeat(before, call);
    if (before !== undefined) {
      before.signals = signalsAfter(before, call, repeated);
      before.lastSeenMs = call.atMs;
    }
    if (continuation) {
      if (before !== undefined && outcome !== undefined) before.outcome = outcome;
      continue;
    }
    const follows = before !== undefined && (repeated || reportedFailure);
    const decision = follows ? { ...call.decision, retryOf: before.decisionId } : call.decision;
    const ask: Open = { ...routed, decision, signals: noSignals, lastSeenMs: call.atMs };
    if (outcome !== undefined) ask.outcome = outcome;
    open.set(conversation, ask);
    asks.push(ask);
  }
  return asks;
}

type Open = { -readonly [K in keyof OutcomeRecord]: OutcomeRecord[K] } & { lastSeenMs: number };

/** Asks are compared by their counts: two asks of one conversation that have all of them in common are the same. */
function isRepeat({ decision, lastSeenMs }: Open, call: RoutedCall): boolean {
  return call.atMs - lastSeenMs <= repeatMs && decision.features.join() === call.decision.features.join();
}

/** The signals about an ask after the conversation's next call: a further turn of it, or another ask. */
function signalsAfter({ decision, signals }: OutcomeRecord, call: RoutedCall, repeated: boolean): Signals {
  const { reportedFailure, continuation, hardRule } = call;
  const failed = reportedFailure || repeated;
  const escalates = continuation && hardRule && call.decision.tier === "pro" && decision.tier === "flash";
  return {
    reported: signals.reported + Number(reportedFailure),
    escalated: signals.escalated || escalates,
    failedAfter: signals.failedAfter + Number(failed && signals.escalated),
    repeated: signals.repeated + Number(repeated),
    wentOn: continuation ? signals.wentOn : !failed,
  };
}
