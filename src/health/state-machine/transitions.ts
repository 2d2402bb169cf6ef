import { type HealthState, limitedMaxMs } from "#health/health.ts";
import { emptyTally, windowTally, withAnswer, withFailure, withoutEvidence } from "./evidence.ts";
import {
  type EventKind,
  type EventOf,
  type Failure,
  type Health,
  type HealthEvent,
  isServing,
  type QuarantineCause,
  type StateData,
  staleAfterMs,
  type TransitionContext,
} from "./model-health.ts";

/**
 * The health of one model as a table: what each event makes of each state. Pure; time, jitter and rules come in with
 * the event; timers and notifications belong to the registry. A missing cell does not compile. docs/health.md shows the
 * same table in prose.
 */
type Cell<S extends HealthState, K extends EventKind> = (
  from: Health<S>,
  event: EventOf<K>,
  at: TransitionContext,
) => Health;
export type Table = { readonly [S in HealthState]: { readonly [K in EventKind]: Cell<S, K> } };

/** Shares of failures at which a model is DEGRADED and UNHEALTHY, from four times `failures_in_a_row` answers on. */
const [degradedShare, unhealthyShare] = [0.1, 0.5];
/** After a silence less is known in the model's favour. */
const staleInARow = 2;
/** Half of ten answers or more. */
const slow = { share: 0.5, minimum: 10 };
/** Unusable answers: of so many conversations in a row, or a share of ten answers or more. */
const garbage = { inARow: 3, share: 0.2, minimum: 10 };
const probesToRecover = 3;
/**
 * After so long without an answer to a probe another may be tried, and both count: a model whose answers take minutes
 * must be able to recover, and one that hangs is asked twice a minute at most.
 */
export const probeLeaseMs = 30_000;
/** A model that trips so often within an hour is left alone for longer: half an hour, doubled each time up to a day. */
export const flapping = { trips: 4, windowMs: 3_600_000 };
export const quarantine = { baseMs: 1_800_000, maxMs: 86_400_000 };
/** For each such time spent HEALTHY, in milliseconds, one quarantine is no longer counted. */
const healthyMsPerQuarantine = 86_400_000;

/**
 * Changes the state. Evidence is kept between states that serve (an attempt begun while HEALTHY may speak in DEGRADED),
 * and starts anew wherever the model stopped, or began again, to be served.
 */
function enter<S extends HealthState>(
  state: S,
  from: Health,
  at: TransitionContext,
  reason: string,
  own: StateData[S],
): Health<S> {
  const healthyMs = from.state === "HEALTHY" ? at.ms - from.sinceMs : 0;
  const epoch = from.epoch + 1;
  const fresh = !(isServing(from) && isServing({ state }));
  return {
    ...from,
    ...own,
    ...{ state, epoch, sinceMs: at.ms, reason },
    ...(fresh && { countsFrom: epoch, slices: [], failedInARow: 0 }),
    quarantines: Math.max(0, from.quarantines - Math.floor(healthyMs / healthyMsPerQuarantine)),
  } as Health<S>; // what another state had of its own is not looked at
}

function degraded(from: Health, at: TransitionContext, reason: string, how?: "unproven" | "ramp"): Health {
  const recovery = { good: 0, window: emptyTally(at.ms) };
  const rampFromMs = how === "ramp" ? at.ms : null;
  return enter("DEGRADED", from, at, reason, { unproven: how === "unproven", rampFromMs, recovery });
}

/** Edge 1. */
function degradeIfFailing(from: Health, at: TransitionContext): Health {
  if (from.state !== "HEALTHY") return from;
  const seen = windowTally(from, at.ms);
  const all = seen.ok + seen.failed;
  const { failures_in_a_row } = at.rules;
  if (from.failedInARow >= 0.6 * failures_in_a_row) return degraded(from, at, `${from.failedInARow} failures in a row`);
  if (all >= 4 * failures_in_a_row && seen.failed >= degradedShare * all)
    return degraded(from, at, `${seen.failed} of ${all} answers failed`);
  if (all >= slow.minimum && seen.slow >= slow.share * all)
    return degraded(from, at, `${seen.slow} of ${all} answers were slow`);
  return from;
}

/** Edges 3 and 7, after a failure was counted. */
function tripIfFailing(from: Health<"HEALTHY" | "DEGRADED" | "STALE">, said: Failure, at: TransitionContext): Health {
  const unusable = quarantineIfUnusable(from, at);
  if (unusable !== undefined) return unusable;
  const seen = windowTally(from, at.ms);
  const all = seen.ok + seen.failed;
  const { failures_in_a_row } = at.rules;
  const unproven = from.state === "STALE" || (from.state === "DEGRADED" && from.unproven);
  if (from.failedInARow >= Math.min(failures_in_a_row, unproven ? staleInARow : Number.POSITIVE_INFINITY))
    return tripped(from, `${from.failedInARow} failures in a row${reasonSuffix(said)}`, said, at);
  // What cannot be used may be the requests' doing, and has bounds of its own.
  if (all >= 4 * failures_in_a_row && seen.failed - seen.garbage >= unhealthyShare * all)
    return tripped(from, `${seen.failed} of ${all} answers failed${reasonSuffix(said)}`, said, at);
  // What it was degraded for, or came back with, may be long over.
  const isFailing = from.state === "DEGRADED" && seen.failed > seen.slow;
  return isFailing ? { ...from, reason: `${seen.failed} of ${all} answers failed` } : from;
}

function quarantineIfUnusable(from: Health, at: TransitionContext): Health | undefined {
  const seen = windowTally(from, at.ms);
  const all = seen.ok + seen.failed;
  if (from.notFound >= 2) return quarantined(from, "delisted", "the upstream does not know the model any more", at);
  if (from.garbageInARow >= garbage.inARow)
    return quarantined(from, "garbage", `${from.garbageInARow} unusable answers in a row`, at);
  if (all >= garbage.minimum && seen.garbage >= Math.max(garbage.inARow - 1, garbage.share * all))
    return quarantined(from, "garbage", `${seen.garbage} of ${all} answers unusable`, at);
  return undefined;
}

/** Edge 3: out for a while; edge 7 when it happens too often. */
function tripped(from: Health, reason: string, said: Failure, at: TransitionContext): Health {
  const tripsAtMs = [...from.tripsAtMs.filter((ms) => ms > at.ms - flapping.windowMs), at.ms];
  if (tripsAtMs.length >= flapping.trips)
    return quarantined(from, "flapping", `${tripsAtMs.length} trips within an hour`, at);
  return unhealthy({ ...from, tripsAtMs }, reason, said, at);
}

/**
 * The pause doubles with each failed probe, up to a quarter of the time that the model has been out: after an outage of
 * a minute nobody waits for minutes. What pauses cost is money, because callers are served by dearer models meanwhile.
 */
function unhealthy(from: Health, reason: string, said: Failure, at: TransitionContext): Health {
  const { open_base_ms: baseMs, open_max_ms } = at.rules;
  const { outSinceMs, failedProbes } =
    from.state === "HALF_OPEN"
      ? { outSinceMs: from.outSinceMs, failedProbes: from.failedProbes + 1 }
      : { outSinceMs: at.ms, failedProbes: 0 };
  const mostMs = Math.min(Math.max(baseMs, (at.ms - outSinceMs) / 4), Math.max(baseMs, open_max_ms));
  const pauseMs = Math.min(baseMs * 2 ** Math.min(failedProbes, 30), mostMs) * (0.8 + 0.4 * at.jitter);
  const retryAtMs = at.ms + Math.round(pauseMs);
  const after = enter("UNHEALTHY", from, at, reason, { outSinceMs, failedProbes, retryAtMs });
  return everyState.limited(after, { kind: "limited", untilMs: at.ms + (said.retryAfterMs ?? 0) }, at);
}

/** Edge 7. */
function quarantined(from: Health, cause: QuarantineCause, reason: string, at: TransitionContext): Health {
  const entered = enter("QUARANTINE", from, at, reason, { retryAtMs: 0, cause });
  const quarantines = entered.quarantines + 1;
  const dwellMs = Math.min(quarantine.baseMs * 2 ** Math.min(quarantines - 1, 30), quarantine.maxMs);
  return { ...entered, quarantines, tripsAtMs: [], garbageInARow: 0, notFound: 0, retryAtMs: at.ms + dwellMs };
}

/** Edges 4 and 8: the request that wanted the model is its first probe. */
function probe(from: Health, _: unknown, at: TransitionContext): Health {
  return halfOpen(from, at, "pause over, probing", at.ms + probeLeaseMs);
}

function halfOpen(from: Health, at: TransitionContext, reason: string, leaseUntilMs: number | null): Health {
  const { outSinceMs = from.sinceMs, failedProbes = 0 } = from.state === "UNHEALTHY" ? from : {};
  return enter("HALF_OPEN", from, at, reason, { passed: 0, leaseUntilMs, outSinceMs, failedProbes });
}

/** Each lease has an epoch of its own, so that only its holder can give it back. */
function leaseProbe(from: Health<"HALF_OPEN">, _: unknown, at: TransitionContext): Health<"HALF_OPEN"> {
  return { ...from, epoch: from.epoch + 1, leaseUntilMs: at.ms + probeLeaseMs };
}

function returnLease(from: Health<"HALF_OPEN">, { epoch }: { readonly epoch: number }): Health<"HALF_OPEN"> {
  return epoch === from.epoch && from.leaseUntilMs !== null ? { ...from, leaseUntilMs: null } : from;
}

/** Edge 5: enough probes in a row; traffic comes back over one window. */
function readmitIfProven(from: Health<"HALF_OPEN">, at: TransitionContext): Health {
  const passed = from.passed + 1;
  return passed < probesToRecover ? { ...from, passed } : degraded(from, at, `${passed} probes succeeded`, "ramp");
}

/** Edge 6. A failed probe lengthens the pause but is no sign of flapping: a long outage is not a quarantine. */
function probeFailed(from: Health<"HALF_OPEN">, said: Failure, at: TransitionContext): Health {
  return quarantineIfUnusable(from, at) ?? unhealthy(from, `a probe failed${reasonSuffix(said)}`, said, at);
}

/** Edge 9. */
function staleIfSilent(from: Health, _: unknown, at: TransitionContext): Health {
  if (at.ms - from.lastVerdictMs < staleAfterMs) return from;
  const stale = enter("STALE", from, at, `no answer for ${staleAfterMs / 60_000} min`, {});
  return { ...stale, slices: [], failedInARow: 0 };
}

/** Our own word for the last failure, if it is one; an upstream's text never gets into a reason that /healthz shows. */
export function reasonSuffix({ reason }: Pick<Failure, "reason">): string {
  return /^[a-z0-9_ ]{1,40}$/.test(reason) ? ` (${reason})` : "";
}

const unchanged = <H extends Health>(from: H): H => from;
const priceBreached = (from: Health, _: unknown, at: TransitionContext) =>
  quarantined(from, "price_breach", "an answer cost more than was held for it", at);
const resetToProbing = (from: Health, _: unknown, at: TransitionContext) =>
  halfOpen(withoutEvidence(from), at, "reset by the operator", null);

/** What no state but a few takes notice of. */
const everyState = {
  lease_returned: unchanged,
  // The upstream names the end of the pause; a later end stands, an earlier one never shortens it.
  limited: <H extends Health>(from: H, { untilMs }: EventOf<"limited">, at: TransitionContext): H => {
    return { ...from, limitedUntilMs: Math.max(from.limitedUntilMs, Math.min(untilMs, at.ms + limitedMaxMs)) };
  },
  wanted: unchanged,
  time_passed: unchanged,
  disabled: (from: Health, { reason }: EventOf<"disabled">, at: TransitionContext): Health =>
    enter("DISABLED", from, at, reason, {}), // 11
  enabled: unchanged,
  reset: withoutEvidence,
};
const serving = { ...everyState, price_breached: priceBreached, time_passed: staleIfSilent }; // 7, 9
/** Late replies prove nothing: attempts that began before the trip carry an older epoch and never get here. */
const notServing = { ...everyState, succeeded: unchanged, failed: unchanged, price_breached: unchanged };

/** Read aloud: a HEALTHY model that … The numbers are the edges of docs/health.md. */
export const transitions: Table = {
  HEALTHY: {
    ...serving,
    succeeded: (from, { slow }, at) => degradeIfFailing(withAnswer(from, slow, at.ms), at), // 1
    failed: (from, event, at) => degradeIfFailing(tripIfFailing(withFailure(from, event, at.ms), event, at), at), // 1, 3, 7
  },
  DEGRADED: {
    ...serving,
    succeeded(from, { slow }, at) {
      const proven = withAnswer(from, slow, at.ms);
      return proven.recovery.good >= 2 ? enter("HEALTHY", proven, at, "answers well again", {}) : proven; // 2
    },
    failed: (from, event, at) => tripIfFailing(withFailure(from, event, at.ms), event, at), // 3, 7
    reset: (from, _, at) => enter("HEALTHY", withoutEvidence(from), at, "reset by the operator", {}), // 2
  },
  UNHEALTHY: { ...notServing, wanted: probe, reset: resetToProbing }, // 4
  HALF_OPEN: {
    ...everyState,
    succeeded: (from, { slow, epoch }, at) =>
      readmitIfProven(returnLease(withAnswer(from, slow, at.ms), { epoch }), at), // 5
    failed: (from, event, at) => probeFailed(withFailure(from, event, at.ms), event, at), // 6, 7
    price_breached: priceBreached, // 7
    lease_returned: returnLease,
    wanted: leaseProbe,
  },
  STALE: {
    ...serving,
    succeeded: (from, { slow }, at) =>
      slow
        ? degraded(withAnswer(from, slow, at.ms), at, "first answer after a silence was slow") // 10
        : enter("HEALTHY", withAnswer(from, slow, at.ms), at, "answers again after a silence", {}), // 10
    failed(from, event, at) {
      const after = tripIfFailing(withFailure(from, event, at.ms), event, at); // 3, 7
      return after.state === "STALE" ? degraded(after, at, "failed after a silence", "unproven") : after; // 10
    },
    time_passed: unchanged,
  },
  QUARANTINE: { ...notServing, wanted: probe, reset: resetToProbing }, // 8
  DISABLED: {
    ...notServing,
    disabled: unchanged,
    enabled: (from, _, at) => enter("STALE", from, at, "enabled again", {}), // 11
  },
};

/** What `event` makes of `health`. The same object comes back when nothing changed. */
export function next(health: Health, event: HealthEvent, at: TransitionContext): Health {
  if ("epoch" in event && event.epoch < health.countsFrom) return health;
  // Row and column are picked by the same two values that are handed in; TypeScript cannot follow the pairing.
  const cell = transitions[health.state][event.kind] as Cell<HealthState, EventKind>;
  return cell(health, event, at);
}
