import type { HealthState } from "#health/health.ts";
import type { Policy } from "#policy/schema.ts";

/**
 * The health of one model as a table: what each event makes of each state. Pure; time, jitter and rules come in with the
 * event, timers and announcements belong to the registry. A missing cell does not compile, and neither does a cell that
 * leads where `Edges` has no edge. docs/health.md shows the same table in prose.
 */

/** The states that each state may become. There are no others. */
interface AllowedTransitions {
  HEALTHY: "DEGRADED" | "UNHEALTHY" | "QUARANTINE" | "STALE" | "DISABLED";
  DEGRADED: "HEALTHY" | "UNHEALTHY" | "QUARANTINE" | "STALE" | "DISABLED";
  UNHEALTHY: "HALF_OPEN" | "DISABLED";
  HALF_OPEN: "DEGRADED" | "UNHEALTHY" | "QUARANTINE" | "DISABLED";
  STALE: "HEALTHY" | "DEGRADED" | "UNHEALTHY" | "QUARANTINE" | "DISABLED";
  QUARANTINE: "HALF_OPEN" | "DISABLED";
  DISABLED: "STALE";
}

/** The same relation as a value, for tests and documentation. */
export const allowedTransitions: { readonly [S in HealthState]: readonly AllowedTransitions[S][] } = {
  HEALTHY: ["DEGRADED", "UNHEALTHY", "QUARANTINE", "STALE", "DISABLED"],
  DEGRADED: ["HEALTHY", "UNHEALTHY", "QUARANTINE", "STALE", "DISABLED"],
  UNHEALTHY: ["HALF_OPEN", "DISABLED"],
  HALF_OPEN: ["DEGRADED", "UNHEALTHY", "QUARANTINE", "DISABLED"],
  STALE: ["HEALTHY", "DEGRADED", "UNHEALTHY", "QUARANTINE", "DISABLED"],
  QUARANTINE: ["HALF_OPEN", "DISABLED"],
  DISABLED: ["STALE"],
};

/** What the verdicts of some stretch of time came to. `slow` answers are counted in `ok` too, `garbage` in `failed`. */
export interface Tally {
  readonly startMs: number;
  readonly ok: number;
  readonly slow: number;
  readonly failed: number;
  readonly garbage: number;
}

/** Evidence for DEGRADED → HEALTHY: windows that follow each other, and one long one for models with little traffic. */
interface RecoveryEvidence {
  readonly good: number;
  readonly short: Tally;
  readonly long: Tally;
}

export const quarantineCauses = ["garbage", "price_breach", "delisted", "flapping"] as const;
export type QuarantineCause = (typeof quarantineCauses)[number];

/** What every state carries. */
interface CommonData {
  /** Raised by each change of state and each probe; the version for compare-and-set between nodes. */
  readonly epoch: number;
  /** The epoch at which the model was last let serve, or probed: verdicts of attempts that began earlier decide nothing. */
  readonly countsFrom: number;
  readonly sinceMs: number;
  readonly reason: string;
  /** When the last verdict that counted came; when the model was first seen, before there was one. */
  readonly lastVerdictMs: number;
  /** At most six slices of the window, oldest first. */
  readonly slices: readonly Tally[];
  readonly failedInARow: number;
  readonly garbageInARow: number;
  /** 404s since the last success. */
  readonly notFound: number;
  /** Trips that still count for the length of the pause. */
  readonly trips: number;
  /** When the model last tripped while serving, for recognising flapping. */
  readonly tripsAtMs: readonly number[];
  readonly quarantines: number;
  /** A 429 is a pause, not a failure: skipped until then, whatever the state. 0: never limited. */
  readonly limitedUntilMs: number;
}

/** What some states carry beside it. */
interface StateData {
  HEALTHY: object;
  /** `unproven`: came from STALE and has not succeeded since. `rampFromMs`: came from probes then, traffic grows back. */
  DEGRADED: { readonly unproven: boolean; readonly rampFromMs: number | null; readonly recovery: RecoveryEvidence };
  UNHEALTHY: { readonly retryAtMs: number };
  /** `leaseUntilMs`: a probe is out and has not answered. `urgentRetryAtMs`: let in early because nothing else could serve. */
  HALF_OPEN: {
    readonly passed: number;
    readonly leaseUntilMs: number | null;
    readonly urgentRetryAtMs: number | null;
  };
  STALE: object;
  QUARANTINE: { readonly retryAtMs: number; readonly cause: QuarantineCause };
  DISABLED: object;
}

export type Health<S extends HealthState = HealthState> = {
  [K in S]: CommonData & StateData[K] & { readonly state: K };
}[S];

/** `epoch` is that of the permit under which the attempt began. */
export type HealthEvent =
  | { readonly kind: "succeeded"; readonly epoch: number; readonly slow: boolean }
  | {
      readonly kind: "failed";
      readonly epoch: number;
      readonly reason: string;
      readonly retryAfterMs?: number | undefined;
    }
  | { readonly kind: "garbled"; readonly epoch: number; readonly reason: string }
  | { readonly kind: "not_found"; readonly epoch: number }
  | { readonly kind: "price_breached"; readonly epoch: number }
  /** The aggregator cannot be reached for this model, and for no other as far as is known. */
  | { readonly kind: "unreachable_alone"; readonly epoch: number; readonly reason: string }
  /** The attempt's answer has begun, or it ended and proves nothing: if it was the probe, the next may go. */
  | { readonly kind: "lease_returned"; readonly epoch: number }
  | { readonly kind: "limited"; readonly untilMs: number }
  /** A request wants the model; `urgent` when nothing else can serve and it is this model's turn. */
  | { readonly kind: "wanted"; readonly urgent: boolean }
  | { readonly kind: "time_passed" }
  | { readonly kind: "disabled"; readonly reason: string }
  | { readonly kind: "enabled" }
  /** The operator says: forget what you have against it. */
  | { readonly kind: "reset" };
type EventKind = HealthEvent["kind"];
type EventOf<K extends EventKind> = Extract<HealthEvent, { kind: K }>;

export type HealthRules = Policy["health"];

/** When something happened: the time, one uniform random number in [0, 1) to spread retries, and the rules in force. */
export interface TransitionContext {
  readonly ms: number;
  readonly jitter: number;
  readonly rules: HealthRules;
}

/**
 * After this long without a word from a probe another may be tried, and both count: a model whose answers take minutes
 * must be able to recover, and one that hangs is asked twice a minute at most.
 */
export const probeLeaseMs = 30_000;
const slicesPerWindow = 6;
/** Low traffic recovers on this many verdicts in this many windows (5 in 5 minutes). */
const lowTrafficWindows = 5;
const lowTrafficMinimum = 5;
/** Trips and quarantines are forgiven one by one for time spent HEALTHY. */
const tripForgivenMs = 600_000;
const quarantineForgivenMs = 86_400_000;

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

/** A model nobody has tried: served like any healthy one. */
export function initialHealth(ms: number): Health<"HEALTHY"> {
  return {
    state: "HEALTHY",
    epoch: 1,
    countsFrom: 1,
    sinceMs: ms,
    reason: "first seen",
    lastVerdictMs: ms,
    slices: [],
    failedInARow: 0,
    garbageInARow: 0,
    notFound: 0,
    trips: 0,
    tripsAtMs: [],
    quarantines: 0,
    limitedUntilMs: 0,
  };
}

/** Everything the window still holds, added up. */
export function windowTally(health: Health, nowMs: number, rules: HealthRules): Tally {
  return health.slices.reduce(
    (sum, slice) => (slice.startMs > nowMs - rules.window_ms ? add(sum, slice) : sum),
    emptyTally(nowMs - rules.window_ms),
  );
}

/**
 * The share of a DEGRADED model's requests that go to the next model of the chain: by how much it fails (a slow
 * answer is no relief, so it counts as asked and not as answered), and after probes a ramp that ends one window later.
 */
export function shedShare(health: Health, nowMs: number, rules: HealthRules): number {
  if (health.state !== "DEGRADED") return 0;
  const seen = windowTally(health, nowMs, rules);
  const asked = seen.ok + seen.failed;
  const byEvidence = (asked - 1.5 * (seen.ok - seen.slow)) / (asked + 1);
  const left = health.rampFromMs === null ? 0 : 1 - (nowMs - health.rampFromMs) / Math.max(1, rules.window_ms);
  return Math.min(rules.shed_max, Math.max(0, byEvidence, left * rules.shed_max));
}

// What the cells are made of.

type Serving = "HEALTHY" | "DEGRADED" | "STALE";
interface FailureDetail {
  readonly reason?: string;
  readonly retryAfterMs?: number | undefined;
}
const notFoundDetail: FailureDetail = { reason: "404" };
const priceBreachReason = "an answer cost more than was held for it";
const failureTally = { ok: 0, slow: 0, failed: 1, garbage: 0 };
const garbageTally = { ok: 0, slow: 0, failed: 1, garbage: 1 };
const answerTally = (slow: boolean) => ({ ok: 1, slow: slow ? 1 : 0, failed: 0, garbage: 0 });

function unchanged<H extends Health>(from: H): H {
  return from;
}

/** The upstream names the end of the pause; a later end stands, an earlier one never shortens it. */
function limited<H extends Health>(from: H, { untilMs }: EventOf<"limited">, at: TransitionContext): H {
  const latest = Math.min(untilMs, at.ms + at.rules.limited_max_ms);
  return { ...from, limitedUntilMs: Math.max(from.limitedUntilMs, latest) };
}

function isLimited(health: Health, at: TransitionContext): boolean {
  return health.limitedUntilMs > at.ms;
}

function disabled(from: Health, { reason }: EventOf<"disabled">, at: TransitionContext): Health<"DISABLED"> {
  return enter("DISABLED", from, at, reason, {}, "starts");
}

/**
 * Changes the state. Evidence `keeps` between states that serve (an attempt begun while HEALTHY may speak in DEGRADED)
 * and `starts` anew wherever the model stopped, or began again, to be served.
 */
function enter<S extends HealthState>(
  state: S,
  from: Health,
  at: TransitionContext,
  reason: string,
  own: StateData[S],
  evidence: "keeps" | "starts" = "keeps",
): Health<S> {
  const healthyMs = from.state === "HEALTHY" ? at.ms - from.sinceMs : 0;
  const epoch = from.epoch + 1;
  const fresh = evidence === "starts";
  const common: CommonData = {
    epoch,
    countsFrom: fresh ? epoch : from.countsFrom,
    sinceMs: at.ms,
    reason,
    lastVerdictMs: from.lastVerdictMs,
    slices: fresh ? [] : from.slices,
    failedInARow: fresh ? 0 : from.failedInARow,
    garbageInARow: from.garbageInARow,
    notFound: from.notFound,
    trips: Math.max(0, from.trips - Math.floor(healthyMs / tripForgivenMs)),
    tripsAtMs: from.tripsAtMs,
    quarantines: Math.max(0, from.quarantines - Math.floor(healthyMs / quarantineForgivenMs)),
    limitedUntilMs: from.limitedUntilMs,
  };
  return { ...common, ...own, state } as Health<S>; // the parts of Health<S>, which TypeScript keeps apart while S is open
}

function withAnswer<H extends Health>(from: H, slow: boolean, at: TransitionContext): H {
  return { ...withVerdict(from, answerTally(slow), at), failedInARow: 0, garbageInARow: 0, notFound: 0 };
}

function withFailure<H extends Health>(from: H, garbled: boolean, at: TransitionContext): H {
  return {
    ...withVerdict(from, garbled ? garbageTally : failureTally, at),
    failedInARow: from.failedInARow + 1,
    garbageInARow: garbled ? from.garbageInARow + 1 : 0,
  };
}

function withNotFound<H extends Health>(from: H, at: TransitionContext): H {
  return { ...withFailure(from, false, at), notFound: from.notFound + 1 };
}

function withVerdict<H extends Health>(from: H, verdict: Omit<Tally, "startMs">, at: TransitionContext): H {
  const sliceMs = Math.max(1, Math.ceil(at.rules.window_ms / slicesPerWindow));
  const startMs = Math.floor(at.ms / sliceMs) * sliceMs;
  const newest = from.slices.at(-1);
  const slices =
    newest !== undefined && newest.startMs >= startMs
      ? [...from.slices.slice(0, -1), add(newest, verdict)]
      : [...from.slices.slice(1 - slicesPerWindow), { startMs, ...verdict }];
  return { ...from, slices, lastVerdictMs: at.ms };
}

function add(sum: Tally, verdict: Omit<Tally, "startMs">): Tally {
  return {
    startMs: sum.startMs,
    ok: sum.ok + verdict.ok,
    slow: sum.slow + verdict.slow,
    failed: sum.failed + verdict.failed,
    garbage: sum.garbage + verdict.garbage,
  };
}

function emptyTally(startMs: number): Tally {
  return { startMs, ok: 0, slow: 0, failed: 0, garbage: 0 };
}

function degraded(
  from: Health,
  at: TransitionContext,
  reason: string,
  own: { unproven: boolean; ramp?: true },
): Health<"DEGRADED"> {
  const recovery = { good: 0, short: emptyTally(at.ms), long: emptyTally(at.ms) };
  const evidence = own.ramp ? "starts" : "keeps";
  const rampFromMs = own.ramp ? at.ms : null;
  return enter("DEGRADED", from, at, reason, { unproven: own.unproven, rampFromMs, recovery }, evidence);
}

/** Edge 1. */
function degradeIfFailing<H extends Health>(from: H, at: TransitionContext): H | Health<"DEGRADED"> {
  if (from.state !== "HEALTHY") return from;
  const { rules } = at;
  const seen = windowTally(from, at.ms, rules);
  const all = seen.ok + seen.failed;
  if (from.failedInARow >= rules.degraded_in_a_row) {
    return degraded(from, at, `${from.failedInARow} failures in a row`, { unproven: false });
  }
  if (all >= rules.degraded_minimum && seen.failed >= rules.degraded_failure_share * all && seen.failed > 0) {
    return degraded(from, at, `${seen.failed} of ${all} answers failed`, { unproven: false });
  }
  if (all >= rules.slow_minimum && seen.slow >= rules.slow_share * all && seen.slow > 0) {
    return degraded(from, at, `${seen.slow} of ${all} answers were slow`, { unproven: false });
  }
  return from;
}

/** Edge 2, the evidence: adds a verdict to the windows that a DEGRADED model recovers by. */
function withRecoveryEvidence(
  from: Health<"DEGRADED">,
  verdict: Omit<Tally, "startMs">,
  at: TransitionContext,
): Health<"DEGRADED"> {
  const { window_ms, recovered_minimum } = at.rules;
  let { good, short, long } = from.recovery;
  short = add(short, verdict);
  long = add(long, verdict);
  if (at.ms - short.startMs >= window_ms && short.ok + short.failed >= recovered_minimum) {
    good = meetsRecoveryShares(short, at.rules) ? good + 1 : 0;
    short = emptyTally(at.ms);
  }
  if (at.ms - long.startMs >= lowTrafficWindows * window_ms && long.ok + long.failed >= lowTrafficMinimum) {
    if (meetsRecoveryShares(long, at.rules)) good = 2;
    long = emptyTally(at.ms);
  }
  return { ...from, unproven: from.unproven && verdict.ok === 0, recovery: { good, short, long } };
}

function meetsRecoveryShares(seen: Tally, rules: HealthRules): boolean {
  const all = seen.ok + seen.failed;
  return seen.failed < rules.recovered_failure_share * all && seen.slow < rules.recovered_slow_share * all;
}

/** Edge 2. */
function recoverIfProven(from: Health<"DEGRADED">, at: TransitionContext): Health<"DEGRADED" | "HEALTHY"> {
  return from.recovery.good >= 2 ? enter("HEALTHY", from, at, "answers well again", {}) : from;
}

/** Edges 3 and 7, after a failure was counted. */
function tripIfFailing<H extends Health<Serving>>(
  from: H,
  said: FailureDetail,
  at: TransitionContext,
): H | Health<"UNHEALTHY"> | Health<"QUARANTINE"> {
  const { rules } = at;
  const seen = windowTally(from, at.ms, rules);
  const all = seen.ok + seen.failed;
  const rubbish = quarantineIfUnusable(from, seen, at);
  if (rubbish !== undefined) return rubbish;
  const unproven = from.state === "STALE" || (from.state === "DEGRADED" && from.unproven);
  if (from.failedInARow >= (unproven ? rules.stale_failures_in_a_row : rules.failures_in_a_row)) {
    return tripped(from, `${from.failedInARow} failures in a row${reasonSuffix(said)}`, said, at);
  }
  if (all >= rules.unhealthy_minimum && seen.failed >= rules.unhealthy_failure_share * all && seen.failed > 0) {
    return tripped(from, `${seen.failed} of ${all} answers failed${reasonSuffix(said)}`, said, at);
  }
  return from;
}

function quarantineIfUnusable(from: Health, seen: Tally, at: TransitionContext): Health<"QUARANTINE"> | undefined {
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
function tripped(
  from: Health<Serving>,
  reason: string,
  said: FailureDetail,
  at: TransitionContext,
): Health<"UNHEALTHY"> | Health<"QUARANTINE"> {
  const { rules } = at;
  const tripsAtMs = [...from.tripsAtMs.filter((ms) => ms > at.ms - rules.trips_window_ms), at.ms];
  if (tripsAtMs.length >= rules.trips_to_quarantine) {
    return quarantined(from, "flapping", `${tripsAtMs.length} trips within ${inMinutes(rules.trips_window_ms)}`, at);
  }
  return unhealthy({ ...from, tripsAtMs }, reason, said, at);
}

function unhealthy(from: Health, reason: string, said: FailureDetail, at: TransitionContext): Health<"UNHEALTHY"> {
  const { rules } = at;
  const entered = enter("UNHEALTHY", from, at, reason, { retryAtMs: 0 }, "starts");
  const trips = entered.trips + 1;
  const pauseMs = Math.min(rules.open_base_ms * 2 ** Math.min(trips - 1, 30), rules.open_max_ms);
  const spreadMs = Math.round(pauseMs * (0.8 + 0.4 * at.jitter));
  const toldMs = Math.min(said.retryAfterMs ?? 0, rules.limited_max_ms);
  return { ...entered, trips, retryAtMs: at.ms + Math.max(spreadMs, toldMs) };
}

/** Edge 7. */
function quarantined(
  from: Health,
  cause: QuarantineCause,
  reason: string,
  at: TransitionContext,
): Health<"QUARANTINE"> {
  const { quarantine_base_ms, quarantine_max_ms } = at.rules;
  const entered = enter("QUARANTINE", from, at, reason, { retryAtMs: 0, cause }, "starts");
  const quarantines = entered.quarantines + 1;
  const dwellMs = Math.min(quarantine_base_ms * 2 ** Math.min(quarantines - 1, 30), quarantine_max_ms);
  return { ...entered, quarantines, tripsAtMs: [], garbageInARow: 0, notFound: 0, retryAtMs: at.ms + dwellMs };
}

/** Edges 4 and 8: the request that wanted the model is its first probe. */
function probeIfDue<H extends Health<"UNHEALTHY" | "QUARANTINE">>(
  from: H,
  urgent: boolean,
  at: TransitionContext,
): H | Health<"HALF_OPEN"> {
  if (from.retryAtMs <= at.ms) return halfOpen(from, at, "pause over, probing", at.ms + probeLeaseMs, null);
  if (!urgent) return from;
  return halfOpen(from, at, "nothing else can serve, probing early", at.ms + probeLeaseMs, from.retryAtMs);
}

function halfOpen(
  from: Health,
  at: TransitionContext,
  reason: string,
  leaseUntilMs: number | null,
  urgentRetryAtMs: number | null,
): Health<"HALF_OPEN"> {
  return enter("HALF_OPEN", from, at, reason, { passed: 0, leaseUntilMs, urgentRetryAtMs }, "starts");
}

/** One probe at a time. Each lease has an epoch of its own, so that only its holder can give it back. */
function leaseProbe(from: Health<"HALF_OPEN">, at: TransitionContext): Health<"HALF_OPEN"> {
  if (isLimited(from, at) || (from.leaseUntilMs !== null && from.leaseUntilMs > at.ms)) return from;
  return { ...from, epoch: from.epoch + 1, leaseUntilMs: at.ms + probeLeaseMs };
}

function withLeaseReturned(from: Health<"HALF_OPEN">, epoch: number): Health<"HALF_OPEN"> {
  return epoch === from.epoch && from.leaseUntilMs !== null ? { ...from, leaseUntilMs: null } : from;
}

/** Edge 5: enough probes in a row; traffic comes back over one window. */
function readmitIfProven(from: Health<"HALF_OPEN">, at: TransitionContext): Health<"HALF_OPEN" | "DEGRADED"> {
  const passed = from.passed + 1;
  if (passed < at.rules.probes_to_recover) return { ...from, passed, urgentRetryAtMs: null };
  return degraded(from, at, `${passed} probes succeeded`, { unproven: false, ramp: true });
}

/**
 * Edge 6. A failed probe lengthens the pause but is no sign of flapping: a long outage is not a quarantine. An urgent
 * probe that fails was asked too early, so the pause it cut short goes on as it was.
 */
function probeFailed(
  from: Health<"HALF_OPEN">,
  said: FailureDetail,
  at: TransitionContext,
): Health<"UNHEALTHY" | "QUARANTINE"> {
  const rubbish = quarantineIfUnusable(from, windowTally(from, at.ms, at.rules), at);
  if (rubbish !== undefined) return rubbish;
  if (from.urgentRetryAtMs === null) return unhealthy(from, `a probe failed${reasonSuffix(said)}`, said, at);
  const again = unhealthy(from, `an early probe failed${reasonSuffix(said)}`, said, at);
  const toldMs = at.ms + Math.min(said.retryAfterMs ?? 0, at.rules.limited_max_ms);
  return { ...again, trips: from.trips, retryAtMs: Math.max(from.urgentRetryAtMs, toldMs) };
}

/** Edge 9. */
function staleIfSilent<H extends Health<"HEALTHY" | "DEGRADED">>(from: H, at: TransitionContext): H | Health<"STALE"> {
  if (at.ms - from.lastVerdictMs < at.rules.stale_after_ms) return from;
  const stale = enter("STALE", from, at, `no answer for ${inMinutes(at.rules.stale_after_ms)}`, {});
  return { ...stale, slices: [], failedInARow: 0 };
}

/** Edge 10, the bad half: one failure after a silence. */
function degradeIfStale(
  from: Health<"STALE"> | Health<"UNHEALTHY"> | Health<"QUARANTINE">,
  at: TransitionContext,
): Health<"DEGRADED" | "UNHEALTHY" | "QUARANTINE"> {
  return from.state === "STALE" ? degraded(from, at, "failed after a silence", { unproven: true }) : from;
}

function withoutEvidence<H extends Health>(from: H): H {
  return {
    ...from,
    slices: [],
    failedInARow: 0,
    garbageInARow: 0,
    notFound: 0,
    trips: 0,
    tripsAtMs: [],
    quarantines: 0,
    limitedUntilMs: 0,
  };
}

/** Our own word for the last failure, if it is one; an upstream's text never gets into a reason that /healthz shows. */
export function reasonSuffix(said: FailureDetail): string {
  return said.reason !== undefined && /^[a-z0-9_ ]{1,40}$/.test(said.reason) ? ` (${said.reason})` : "";
}

function inMinutes(ms: number): string {
  return `${Math.round(ms / 6_000) / 10} min`;
}
