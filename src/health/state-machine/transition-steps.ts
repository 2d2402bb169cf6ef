import type { HealthState } from "#health/health.ts";
import { emptyTally, windowTally } from "./evidence.ts";
import {
  type EventOf,
  type Failure,
  type Health,
  isServing,
  type QuarantineCause,
  type StateData,
  type Tally,
  type TransitionContext,
} from "./model-health.ts";

/** The steps of the transition table: each takes a model's health and returns the next, or the same object. Pure. */

/**
 * After this long without an answer to a probe another may be tried, and both count: a model whose answers take minutes
 * must be able to recover, and one that hangs is asked twice a minute at most.
 */
export const probeLeaseMs = 30_000;

/** For each such time spent HEALTHY, in milliseconds, one quarantine is no longer counted. */
const healthyMsPerQuarantine = 86_400_000;
/** A probe that fails within a second costs its caller little, so the next one follows this many times as soon. */
const quickProbeFactor = 3;

export type Serving = "HEALTHY" | "DEGRADED" | "STALE";

type FailureDetail = Omit<Failure, "as">;

export function unchanged<H extends Health>(from: H): H {
  return from;
}

/** The upstream names the end of the pause; a later end stands, an earlier one never shortens it. */
export function limited<H extends Health>(from: H, { untilMs }: EventOf<"limited">, at: TransitionContext): H {
  const latest = Math.min(untilMs, at.ms + at.rules.limited_max_ms);
  return { ...from, limitedUntilMs: Math.max(from.limitedUntilMs, latest) };
}

export function disabled(from: Health, { reason }: EventOf<"disabled">, at: TransitionContext): Health {
  return enter("DISABLED", from, at, reason, {});
}

/**
 * Changes the state. Evidence is kept between states that serve (an attempt begun while HEALTHY may speak in DEGRADED), and
 * starts anew wherever the model stopped, or began again, to be served.
 */
export function enter<S extends HealthState>(
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

export function degraded(from: Health, at: TransitionContext, reason: string, how?: "unproven" | "ramp"): Health {
  const recovery = { good: 0, window: emptyTally(at.ms) };
  const rampFromMs = how === "ramp" ? at.ms : null;
  return enter("DEGRADED", from, at, reason, { unproven: how === "unproven", rampFromMs, recovery });
}

/** Edge 1. */
export function degradeIfFailing(from: Health, at: TransitionContext): Health {
  if (from.state !== "HEALTHY") return from;
  const { rules } = at;
  const seen = windowTally(from, at.ms, rules);
  const all = seen.ok + seen.failed;
  if (from.failedInARow >= rules.degraded_in_a_row) {
    return degraded(from, at, `${from.failedInARow} failures in a row`);
  }
  if (all >= rules.degraded_minimum && seen.failed >= rules.degraded_failure_share * all && seen.failed > 0) {
    return degraded(from, at, `${seen.failed} of ${all} answers failed`);
  }
  if (all >= rules.slow_minimum && seen.slow >= rules.slow_share * all && seen.slow > 0) {
    return degraded(from, at, `${seen.slow} of ${all} answers were slow`);
  }
  return from;
}

/** Edges 3 and 7, after a failure was counted. */
export function tripIfFailing(from: Health<Serving>, said: FailureDetail, at: TransitionContext): Health {
  const { rules } = at;
  const seen = windowTally(from, at.ms, rules);
  const all = seen.ok + seen.failed;
  const quarantine = quarantineIfUnusable(from, seen, at);
  if (quarantine !== undefined) return quarantine;
  const unproven = from.state === "STALE" || (from.state === "DEGRADED" && from.unproven);
  if (from.failedInARow >= (unproven ? rules.stale_failures_in_a_row : rules.failures_in_a_row)) {
    return tripped(from, `${from.failedInARow} failures in a row${reasonSuffix(said)}`, said, at);
  }
  if (all >= rules.unhealthy_minimum && seen.failed >= rules.unhealthy_failure_share * all && seen.failed > 0) {
    return tripped(from, `${seen.failed} of ${all} answers failed${reasonSuffix(said)}`, said, at);
  }
  // What it was degraded for, or came back with, may be long over.
  const isFailing = from.state === "DEGRADED" && seen.failed > seen.slow;
  return isFailing ? { ...from, reason: `${seen.failed} of ${all} answers failed` } : from;
}

function quarantineIfUnusable(from: Health, seen: Tally, at: TransitionContext): Health | undefined {
  const all = seen.ok + seen.failed;
  if (from.notFound >= 2) return quarantined(from, "delisted", "the upstream does not know the model any more", at);
  if (from.garbageInARow >= at.rules.garbage_in_a_row) {
    return quarantined(from, "garbage", `${from.garbageInARow} unusable answers in a row`, at);
  }
  if (seen.garbage > 0 && all >= at.rules.garbage_minimum && seen.garbage >= at.rules.garbage_share * all) {
    return quarantined(from, "garbage", `${seen.garbage} of ${all} answers unusable`, at);
  }
  return undefined;
}

/** Edge 3: out for a while; edge 7 when it happens too often. */
export function tripped(from: Health<Serving>, reason: string, said: FailureDetail, at: TransitionContext): Health {
  const { rules } = at;
  const tripsAtMs = [...from.tripsAtMs.filter((ms) => ms > at.ms - rules.trips_window_ms), at.ms];
  if (tripsAtMs.length >= rules.trips_to_quarantine) {
    return quarantined(from, "flapping", `${tripsAtMs.length} trips within ${inMinutes(rules.trips_window_ms)}`, at);
  }
  return unhealthy({ ...from, tripsAtMs }, reason, said, at);
}

/**
 * The pause doubles with each failed probe, up to a quarter of the time that the model has been out: after an outage of a minute
 * nobody waits for minutes. What pauses cost is money, because callers are served by dearer models meanwhile.
 */
function unhealthy(from: Health, reason: string, said: FailureDetail, at: TransitionContext): Health {
  const { open_base_ms, open_max_ms, limited_max_ms } = at.rules;
  const { outSinceMs, failedProbes } =
    from.state === "HALF_OPEN"
      ? { outSinceMs: from.outSinceMs, failedProbes: from.failedProbes + 1 }
      : { outSinceMs: at.ms, failedProbes: 0 };
  const factor = said.quick && failedProbes > 0 ? quickProbeFactor : 1;
  const baseMs = open_base_ms / factor;
  const mostMs = Math.min(Math.max(baseMs, (at.ms - outSinceMs) / (4 * factor)), Math.max(baseMs, open_max_ms));
  const pauseMs = Math.min(baseMs * 2 ** Math.min(failedProbes, 30), mostMs) * (0.8 + 0.4 * at.jitter);
  const boundMs = Math.round(failedProbes > 0 ? Math.min(pauseMs, mostMs) : pauseMs);
  const retryAtMs = at.ms + Math.max(boundMs, Math.min(said.retryAfterMs ?? 0, limited_max_ms));
  return enter("UNHEALTHY", from, at, reason, { outSinceMs, failedProbes, retryAtMs });
}

/** Edge 7. */
export function quarantined(from: Health, cause: QuarantineCause, reason: string, at: TransitionContext): Health {
  const { quarantine_base_ms, quarantine_max_ms } = at.rules;
  const entered = enter("QUARANTINE", from, at, reason, { retryAtMs: 0, cause });
  const quarantines = entered.quarantines + 1;
  const dwellMs = Math.min(quarantine_base_ms * 2 ** Math.min(quarantines - 1, 30), quarantine_max_ms);
  return { ...entered, quarantines, tripsAtMs: [], garbageInARow: 0, notFound: 0, retryAtMs: at.ms + dwellMs };
}

/** Edges 4 and 8: the request that wanted the model is its first probe. */
export function probeIfDue(from: Health<"UNHEALTHY" | "QUARANTINE">, _: unknown, at: TransitionContext): Health {
  if (from.limitedUntilMs > at.ms || from.retryAtMs > at.ms) return from;
  return halfOpen(from, at, "pause over, probing", at.ms + probeLeaseMs);
}

export function halfOpen(from: Health, at: TransitionContext, reason: string, leaseUntilMs: number | null): Health {
  const { outSinceMs = from.sinceMs, failedProbes = 0 } = from.state === "UNHEALTHY" ? from : {};
  return enter("HALF_OPEN", from, at, reason, { passed: 0, leaseUntilMs, outSinceMs, failedProbes });
}

/** One probe at a time. Each lease has an epoch of its own, so that only its holder can give it back. */
export function leaseProbe(from: Health<"HALF_OPEN">, at: TransitionContext): Health<"HALF_OPEN"> {
  if (from.limitedUntilMs > at.ms || (from.leaseUntilMs !== null && from.leaseUntilMs > at.ms)) return from;
  return { ...from, epoch: from.epoch + 1, leaseUntilMs: at.ms + probeLeaseMs };
}

export function withLeaseReturned(from: Health<"HALF_OPEN">, epoch: number): Health<"HALF_OPEN"> {
  return epoch === from.epoch && from.leaseUntilMs !== null ? { ...from, leaseUntilMs: null } : from;
}

/** Edge 5: enough probes in a row; traffic comes back over one window. */
export function readmitIfProven(from: Health<"HALF_OPEN">, at: TransitionContext): Health {
  const passed = from.passed + 1;
  if (passed < at.rules.probes_to_recover) return { ...from, passed };
  return degraded(from, at, `${passed} probes succeeded`, "ramp");
}

/** Edge 6. A failed probe lengthens the pause but is no sign of flapping: a long outage is not a quarantine. */
export function probeFailed(from: Health<"HALF_OPEN">, said: FailureDetail, at: TransitionContext): Health {
  const quarantine = quarantineIfUnusable(from, windowTally(from, at.ms, at.rules), at);
  return quarantine ?? unhealthy(from, `a probe failed${reasonSuffix(said)}`, said, at);
}

/** Edge 9. */
export function staleIfSilent(from: Health, _: unknown, at: TransitionContext): Health {
  if (at.ms - from.lastVerdictMs < at.rules.stale_after_ms) return from;
  const stale = enter("STALE", from, at, `no answer for ${inMinutes(at.rules.stale_after_ms)}`, {});
  return { ...stale, slices: [], failedInARow: 0 };
}

/** Our own word for the last failure, if it is one; an upstream's text never gets into a reason that /healthz shows. */
export function reasonSuffix(said: Pick<Failure, "reason">): string {
  return /^[a-z0-9_ ]{1,40}$/.test(said.reason) ? ` (${said.reason})` : "";
}

function inMinutes(ms: number): string {
  return `${Math.round(ms / 6_000) / 10} min`;
}
