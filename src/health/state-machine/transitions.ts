import type { HealthState } from "#health/health.ts";
import { withAnswer, withFailure, withoutEvidence } from "./evidence.ts";
import type { EventKind, EventOf, Health, HealthEvent, TransitionContext } from "./model-health.ts";
import {
  degraded,
  degradeIfFailing,
  disabled,
  enter,
  halfOpen,
  leaseProbe,
  limited,
  probeFailed,
  probeIfDue,
  quarantined,
  readmitIfProven,
  type Serving,
  staleIfSilent,
  tripIfFailing,
  tripped,
  unchanged,
  withLeaseReturned,
} from "./transition-steps.ts";

/**
 * The health of one model as a table: what each event makes of each state. Pure; time, jitter and rules come in with the
 * event; timers and notifications belong to the registry. A missing cell does not compile. docs/health.md shows the same table
 * in prose.
 */
export type Table = {
  readonly [S in HealthState]: {
    readonly [K in EventKind]: (from: Health<S>, event: EventOf<K>, at: TransitionContext) => Health;
  };
};

const priceBreached = (from: Health, _: unknown, at: TransitionContext) =>
  quarantined(from, "price_breach", "an answer cost more than was held for it", at);
const resetToProbing = (from: Health, _: unknown, at: TransitionContext) =>
  halfOpen(withoutEvidence(from), at, "reset by the operator", null);

/** What no state but a few takes notice of. */
const everyState = {
  lease_returned: unchanged,
  limited,
  wanted: unchanged,
  time_passed: unchanged,
  enabled: unchanged,
};
/** What holds for every state that serves. */
const serving = {
  ...everyState,
  price_breached: priceBreached, // 7
  unreachable_alone: (from: Health<Serving>, event: EventOf<"unreachable_alone">, at: TransitionContext) =>
    tripped(from, event.reason, event, at), // 3
  disabled, // 11
};
/** Late replies prove nothing: attempts that began before the trip carry an older epoch and never get here. */
const notServing = {
  ...everyState,
  succeeded: unchanged,
  failed: unchanged,
  price_breached: unchanged,
  unreachable_alone: unchanged,
  disabled, // 11
};

/** Read aloud: a HEALTHY model that … The numbers are the edges of docs/health.md. */
export const transitions: Table = {
  HEALTHY: {
    ...serving,
    succeeded: (from, { slow }, at) => degradeIfFailing(withAnswer(from, slow, at), at), // 1
    failed: (from, event, at) => degradeIfFailing(tripIfFailing(withFailure(from, event, at), event, at), at), // 1, 3, 7
    time_passed: staleIfSilent, // 9
    reset: (from) => withoutEvidence(from),
  },
  DEGRADED: {
    ...serving,
    succeeded(from, { slow }, at) {
      const proven = withAnswer(from, slow, at);
      return proven.recovery.good >= 2 ? enter("HEALTHY", proven, at, "answers well again", {}) : proven; // 2
    },
    failed: (from, event, at) => tripIfFailing(withFailure(from, event, at), event, at), // 3, 7
    time_passed: staleIfSilent, // 9
    reset: (from, _, at) => enter("HEALTHY", withoutEvidence(from), at, "reset by the operator", {}), // 2
  },
  UNHEALTHY: {
    ...notServing,
    wanted: probeIfDue, // 4
    reset: resetToProbing, // 4
  },
  HALF_OPEN: {
    ...everyState,
    succeeded: (from, { slow, epoch }, at) => readmitIfProven(withLeaseReturned(withAnswer(from, slow, at), epoch), at), // 5
    failed: (from, event, at) => probeFailed(withFailure(from, event, at), event, at), // 6, 7
    price_breached: priceBreached, // 7
    unreachable_alone: (from, event, at) => probeFailed(from, event, at), // 6
    lease_returned: (from, { epoch }) => withLeaseReturned(from, epoch),
    wanted: (from, _, at) => leaseProbe(from, at),
    disabled, // 11
    reset: (from) => withoutEvidence(from),
  },
  STALE: {
    ...serving,
    succeeded: (from, { slow }, at) =>
      slow
        ? degraded(withAnswer(from, slow, at), at, "first answer after a silence was slow") // 10
        : enter("HEALTHY", withAnswer(from, slow, at), at, "answers again after a silence", {}), // 10
    failed(from, event, at) {
      const after = tripIfFailing(withFailure(from, event, at), event, at); // 3, 7
      return after.state === "STALE" ? degraded(after, at, "failed after a silence", "unproven") : after; // 10
    },
    reset: (from) => withoutEvidence(from),
  },
  QUARANTINE: {
    ...notServing,
    wanted: probeIfDue, // 8
    reset: resetToProbing, // 8
  },
  DISABLED: {
    ...notServing,
    disabled: unchanged,
    enabled: (from, _, at) => enter("STALE", from, at, "enabled again", {}), // 11
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
