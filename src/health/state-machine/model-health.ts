import type { Policy } from "#config/policy.ts";
import type { HealthState } from "#health/health.ts";

/** What is known of one model's health: its state with the data of that state, and the events that change it. */

/** What the verdicts of some stretch of time came to. `slow` answers are counted in `ok` too, `garbage` in `failed`. */
export type Tally = Readonly<{ startMs: number; ok: number; slow: number; failed: number; garbage: number }>;

/** Evidence for DEGRADED → HEALTHY: how many windows in a row were good, and what the one that runs has come to. */
type RecoveryEvidence = Readonly<{ good: number; window: Tally }>;

export const quarantineCauses = ["garbage", "price_breach", "delisted", "flapping"] as const;
export type QuarantineCause = (typeof quarantineCauses)[number];

/** What every state carries. */
export interface CommonData {
  /** Raised by each change of state and each probe. */
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
  /** When the model last tripped while serving, for recognising flapping. */
  readonly tripsAtMs: readonly number[];
  readonly quarantines: number;
  /** A 429 is a pause, not a failure: skipped until then, whatever the state. 0: never limited. */
  readonly limitedUntilMs: number;
}

/** How long a model has been out of service, and how many probes have failed since. */
type Outage = Readonly<{ outSinceMs: number; failedProbes: number }>;

/** What some states carry beside it. */
export interface StateData {
  HEALTHY: object;
  /** `unproven`: came from STALE and has not succeeded since. `rampFromMs`: came from probes then, traffic grows back. */
  DEGRADED: { readonly unproven: boolean; readonly rampFromMs: number | null; readonly recovery: RecoveryEvidence };
  UNHEALTHY: Outage & { readonly retryAtMs: number };
  /** `leaseUntilMs`: a probe is out and has not answered. */
  HALF_OPEN: Outage & { readonly passed: number; readonly leaseUntilMs: number | null };
  STALE: object;
  QUARANTINE: { readonly retryAtMs: number; readonly cause: QuarantineCause };
  DISABLED: object;
}

export type Health<S extends HealthState = HealthState> = {
  [K in S]: CommonData & StateData[K] & { readonly state: K };
}[S];

/** Whether a model in this state is sent whatever comes. */
export function isServing({ state }: { readonly state: HealthState }): boolean {
  return state === "HEALTHY" || state === "DEGRADED" || state === "STALE";
}

/** How an attempt failed: without an answer, with one that cannot be used, or with a 404 for the model. */
export interface Failure {
  readonly as: "failure" | "garbage" | "not_found";
  readonly reason: string;
  readonly retryAfterMs?: number | undefined;
  /** How many in a row, where the attempt's source knows of more: see `EvidenceSources`. */
  readonly run?: number;
}

/** `epoch` is that of the permit under which the attempt began. */
export type HealthEvent =
  | { readonly kind: "succeeded"; readonly epoch: number; readonly slow: boolean }
  | ({ readonly kind: "failed"; readonly epoch: number } & Failure)
  | { readonly kind: "price_breached"; readonly epoch: number }
  /** The attempt's answer has begun, or it ended and proves nothing: if it was the probe, the next may go. */
  | { readonly kind: "lease_returned"; readonly epoch: number }
  | { readonly kind: "limited"; readonly untilMs: number }
  /** A request wants the model, and may be sent: the pause is over, or it is an early probe. */
  | { readonly kind: "wanted" }
  | { readonly kind: "time_passed" }
  | { readonly kind: "disabled"; readonly reason: string }
  | { readonly kind: "enabled" }
  /** The operator says: forget what you have against it. */
  | { readonly kind: "reset" };

export type EventKind = HealthEvent["kind"];

export type EventOf<K extends EventKind> = Extract<HealthEvent, { kind: K }>;

export type HealthRules = Policy["health"];

/** The window in which shares are counted: long enough for 20 answers of a small team, and short as an outage. */
export const windowMs = 60_000;
/** A model without a verdict for so long is STALE: troubles mostly come and go within a quarter of an hour. */
export const staleAfterMs = 900_000;

/** When something happened: the time, one uniform random number in [0, 1) to spread retries, and the rules in force. */
export interface TransitionContext {
  readonly ms: number;
  readonly jitter: number;
  readonly rules: HealthRules;
}

/** What verdicts add up to, before there is one. */
export const noEvidence = {
  ...{ slices: [], failedInARow: 0, garbageInARow: 0, notFound: 0 },
  ...{ tripsAtMs: [], quarantines: 0, limitedUntilMs: 0 },
} as const satisfies Partial<Health>;

/** A model nobody has tried: served like any healthy one. */
export function initialHealth(ms: number): Health<"HEALTHY"> {
  const seen = { sinceMs: ms, reason: "first seen", lastVerdictMs: ms };
  return { state: "HEALTHY", epoch: 1, countsFrom: 1, ...seen, ...noEvidence };
}
