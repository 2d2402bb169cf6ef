import type { HealthState } from "#health/health.ts";
import {
  answerTally,
  failureTally,
  garbageTally,
  withAnswer,
  withFailure,
  withNotFound,
  withoutEvidence,
  withRecoveryEvidence,
} from "./evidence.ts";
import type { AllowedTransitions, EventKind, EventOf, Health, HealthEvent, TransitionContext } from "./model-health.ts";
import {
  degraded,
  degradeIfFailing,
  degradeIfStale,
  disabled,
  enter,
  halfOpen,
  isLimited,
  leaseProbe,
  limited,
  notFoundDetail,
  priceBreachReason,
  probeFailed,
  probeIfDue,
  quarantined,
  readmitIfProven,
  recoverIfProven,
  staleIfSilent,
  tripIfFailing,
  tripped,
  unchanged,
  withLeaseReturned,
} from "./transition-steps.ts";

/**
 * The health of one model as a table: what each event makes of each state. Pure; time, jitter and rules come in with the
 * event; timers and notifications belong to the registry. A missing cell does not compile, and neither does a cell that
 * leads where `AllowedTransitions` has no edge. docs/health.md shows the same table in prose.
 */
export type Table = {
  readonly [S in HealthState]: {
    readonly [K in EventKind]: (
      from: Health<S>,
      event: EventOf<K>,
      at: TransitionContext,
    ) => Health<S | AllowedTransitions[S]>;
  };
};

/** Read aloud: a HEALTHY model that … The numbers are the edges of docs/health.md. */
export const transitions: Table = {
  HEALTHY: {
    succeeded: (from, { slow }, at) => degradeIfFailing(withAnswer(from, slow, at), at), // 1
    failed: (from, event, at) => degradeIfFailing(tripIfFailing(withFailure(from, false, at), event, at), at), // 1, 3, 7
    garbled: (from, event, at) => degradeIfFailing(tripIfFailing(withFailure(from, true, at), event, at), at), // 1, 3, 7
    not_found: (from, _, at) => degradeIfFailing(tripIfFailing(withNotFound(from, at), notFoundDetail, at), at), // 1, 3, 7
    price_breached: (from, _, at) => quarantined(from, "price_breach", priceBreachReason, at), // 7
    unreachable_alone: (from, event, at) => tripped(from, event.reason, event, at), // 3
    lease_returned: unchanged,
    limited,
    wanted: unchanged,
    time_passed: (from, _, at) => staleIfSilent(from, at), // 9
    disabled, // 11
    enabled: unchanged,
    reset: (from) => withoutEvidence(from),
  },
  DEGRADED: {
    succeeded: (from, { slow }, at) =>
      recoverIfProven(withRecoveryEvidence(withAnswer(from, slow, at), answerTally(slow), at), at), // 2
    failed: (from, event, at) =>
      tripIfFailing(withRecoveryEvidence(withFailure(from, false, at), failureTally, at), event, at), // 3, 7
    garbled: (from, event, at) =>
      tripIfFailing(withRecoveryEvidence(withFailure(from, true, at), garbageTally, at), event, at), // 3, 7
    not_found: (from, _, at) =>
      tripIfFailing(withRecoveryEvidence(withNotFound(from, at), failureTally, at), notFoundDetail, at), // 3, 7
    price_breached: (from, _, at) => quarantined(from, "price_breach", priceBreachReason, at), // 7
    unreachable_alone: (from, event, at) => tripped(from, event.reason, event, at), // 3
    lease_returned: unchanged,
    limited,
    wanted: unchanged,
    time_passed: (from, _, at) => staleIfSilent(from, at), // 9
    disabled, // 11
    enabled: unchanged,
    reset: (from, _, at) => enter("HEALTHY", withoutEvidence(from), at, "reset by the operator", {}), // 2
  },
  // Late replies prove nothing: attempts that began before the trip carry an older epoch and never get here.
  UNHEALTHY: {
    succeeded: unchanged,
    failed: unchanged,
    garbled: unchanged,
    not_found: unchanged,
    price_breached: unchanged,
    unreachable_alone: unchanged,
    lease_returned: unchanged,
    limited,
    wanted: (from, { urgent }, at) => (isLimited(from, at) ? from : probeIfDue(from, urgent, at)), // 4
    time_passed: unchanged,
    disabled, // 11
    enabled: unchanged,
    reset: (from, _, at) => halfOpen(withoutEvidence(from), at, "reset by the operator", null, null), // 4
  },
  HALF_OPEN: {
    succeeded: (from, { slow, epoch }, at) => readmitIfProven(withLeaseReturned(withAnswer(from, slow, at), epoch), at), // 5
    failed: (from, event, at) => probeFailed(withFailure(from, false, at), event, at), // 6
    garbled: (from, event, at) => probeFailed(withFailure(from, true, at), event, at), // 6, 7
    not_found: (from, _, at) => probeFailed(withNotFound(from, at), notFoundDetail, at), // 6, 7
    price_breached: (from, _, at) => quarantined(from, "price_breach", priceBreachReason, at), // 7
    unreachable_alone: (from, event, at) => probeFailed(from, event, at), // 6
    lease_returned: (from, { epoch }) => withLeaseReturned(from, epoch),
    limited,
    wanted: (from, _, at) => leaseProbe(from, at),
    time_passed: unchanged,
    disabled, // 11
    enabled: unchanged,
    reset: (from) => withoutEvidence(from),
  },
  STALE: {
    succeeded: (from, { slow }, at) =>
      slow
        ? degraded(withAnswer(from, slow, at), at, "first answer after a silence was slow", { unproven: false }) // 10
        : enter("HEALTHY", withAnswer(from, slow, at), at, "answers again after a silence", {}), // 10
    failed: (from, event, at) => degradeIfStale(tripIfFailing(withFailure(from, false, at), event, at), at), // 3, 7, 10
    garbled: (from, event, at) => degradeIfStale(tripIfFailing(withFailure(from, true, at), event, at), at), // 3, 7, 10
    not_found: (from, _, at) => degradeIfStale(tripIfFailing(withNotFound(from, at), notFoundDetail, at), at), // 3, 7, 10
    price_breached: (from, _, at) => quarantined(from, "price_breach", priceBreachReason, at), // 7
    unreachable_alone: (from, event, at) => tripped(from, event.reason, event, at), // 3
    lease_returned: unchanged,
    limited,
    wanted: unchanged,
    time_passed: unchanged,
    disabled, // 11
    enabled: unchanged,
    reset: (from) => withoutEvidence(from),
  },
  QUARANTINE: {
    succeeded: unchanged,
    failed: unchanged,
    garbled: unchanged,
    not_found: unchanged,
    price_breached: unchanged,
    unreachable_alone: unchanged,
    lease_returned: unchanged,
    limited,
    // A model that costs more than was held for it is not let back ahead of time: the hard cap comes before being up.
    wanted: (from, { urgent }, at) =>
      isLimited(from, at) ? from : probeIfDue(from, urgent && from.cause !== "price_breach", at), // 8
    time_passed: unchanged,
    disabled, // 11
    enabled: unchanged,
    reset: (from, _, at) => halfOpen(withoutEvidence(from), at, "reset by the operator", null, null), // 8
  },
  DISABLED: {
    succeeded: unchanged,
    failed: unchanged,
    garbled: unchanged,
    not_found: unchanged,
    price_breached: unchanged,
    unreachable_alone: unchanged,
    lease_returned: unchanged,
    limited,
    wanted: unchanged,
    time_passed: unchanged,
    disabled: unchanged,
    enabled: (from, _, at) => enter("STALE", from, at, "enabled again", {}, "starts"), // 11
    reset: (from) => withoutEvidence(from),
  },
};

/** What `event` makes of `health`. The same object comes back when nothing changed. */
export function next(health: Health, event: HealthEvent, at: TransitionContext): Health {
  if ("epoch" in event && event.epoch < health.countsFrom) return health;
  // Row and column are picked by the same two values that are handed in; TypeScript cannot follow the pairing.
  const cell = transitions[health.state][event.kind] as (
    from: Health,
    event: HealthEvent,
    at: TransitionContext,
  ) => Health;
  return cell(health, event, at);
}
