import type { Outcome } from "#domain/routing.ts";

/**
 * What became of routed asks, read offline from decision records: callers' reports, and what the next calls of a
 * conversation show of an answer.
 */

/** A request that was routed to flash or pro, as it was recorded; no housekeeping. */
export interface RoutedCall {
  readonly conversation: string;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** Whether it is a further turn of an ask. */
  readonly continuation: boolean;
  /** Equal for asks that have all their counts in common: within a conversation the same ask. */
  readonly ask: string;
  readonly tier: "flash" | "pro";
  readonly model: string;
  readonly score: number;
  /** A hard rule sent it to its model. */
  readonly hardRule: boolean;
  /** The caller has reported a failure with it (`X-Failure-Class`, `X-Same-Error-Count`). */
  readonly reportedFailure: boolean;
  /** What the caller has reported of its answer. */
  readonly outcome: Outcome | undefined;
  /** The most characters of its own prose that the run's model had written in a few calls in a row by then. */
  readonly prose: number;
}

/** An ask that flash answered first. */
export interface Trial {
  readonly score: number;
  readonly failed: boolean;
  /** Whether pro then solved it; undefined where flash did not fail, pro was not tried, or the result is not known. */
  readonly rescued: boolean | undefined;
}

/** An ask with what later calls of its conversation have shown. */
interface Ask {
  readonly call: RoutedCall;
  lastSeenMs: number;
  outcome: Outcome | undefined;
  /** Failures that the caller has reported, and repeats of the same ask. */
  troubles: number;
  /** The run has met a hard rule and gone from flash to pro. */
  escalated: boolean;
  troublesAfterEscalation: number;
  /** Another ask came, and no failure with it. */
  wentOn: boolean;
  /** The ask that followed its failure, on pro. */
  retry?: Ask;
}

/** An ask without a request for this long has ended; later requests show nothing of it. */
const openMs = 3_600_000;
/** The same ask within this time is a repeat: the answer was no good. */
const repeatMs = 600_000;

/**
 * The asks that flash answered first, with their results. An ask without a sign of trouble counts as solved. What
 * became of one that escalated is known once another ask, a failure or the caller's report has followed.
 * @param calls the oldest first
 */
export function trialsIn(calls: Iterable<RoutedCall>): readonly Trial[] {
  const asks: Ask[] = [];
  const open = new Map<string, Ask>();
  for (const call of calls) {
    const { conversation, atMs, continuation, outcome } = call;
    const last = open.get(conversation);
    const before = last !== undefined && atMs - last.lastSeenMs <= openMs ? last : undefined;
    const failed = before !== undefined && noteNext(before, call);
    if (continuation) {
      if (before !== undefined) before.outcome = outcome ?? before.outcome;
      continue;
    }
    const ask: Ask = {
      ...{ call, lastSeenMs: atMs, outcome, troubles: 0 },
      ...{ escalated: false, troublesAfterEscalation: 0, wentOn: false },
    };
    if (failed && call.tier === "pro") before.retry = ask;
    open.set(conversation, ask);
    asks.push(ask);
  }
  return asks.flatMap((ask): Trial[] => {
    if (ask.call.tier !== "flash") return [];
    const failed = ask.escalated || !isSolved(ask);
    return [{ score: ask.call.score, failed, rescued: failed ? rescued(ask) : undefined }];
  });
}

/** Notes what the conversation's next call shows of an ask; returns whether that is a failure. */
function noteNext(ask: Ask, call: RoutedCall): boolean {
  const repeated = !call.continuation && call.ask === ask.call.ask && call.atMs - ask.lastSeenMs <= repeatMs;
  const failed = call.reportedFailure || repeated;
  if (failed) ask.troubles += 1;
  if (failed && ask.escalated) ask.troublesAfterEscalation += 1;
  if (call.continuation) ask.escalated ||= call.hardRule && call.tier === "pro" && ask.call.tier === "flash";
  else ask.wentOn = !failed;
  ask.lastSeenMs = call.atMs;
  return failed;
}

function isSolved({ outcome, troubles }: Ask): boolean {
  return outcome === undefined ? troubles === 0 : outcome === "solved";
}

/** An escalated run was finished by pro, and reports about its end are about pro. */
function rescued({ escalated, outcome, troublesAfterEscalation, wentOn, retry }: Ask): boolean | undefined {
  if (!escalated) return retry && isSolved(retry);
  if (outcome !== undefined) return outcome === "solved";
  if (troublesAfterEscalation > 0) return false;
  return wentOn ? true : undefined;
}
