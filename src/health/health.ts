import type { ModelKey } from "#domain/model.ts";

export const healthStates = [
  "HEALTHY",
  "DEGRADED",
  "UNHEALTHY",
  "HALF_OPEN",
  "DISABLED",
  "STALE",
  "QUARANTINE",
] as const;
export type HealthState = (typeof healthStates)[number];

/** The pause after a 429 without `Retry-After`, and the longest that one can ask for. Providers count by the minute. */
export const limitedDefaultMs = 30_000;
export const limitedMaxMs = 900_000;

/**
 * Model health as the pipeline sees it. The registry behind it applies the transition table, keeps the clock and the
 * random source, and reports what changed; deciding is pure and only reads `view`.
 */
export interface HealthRegistry {
  /**
   * Every registered model's state now. A model whose pause is over counts as routable: the asker becomes the probe.
   * So does one that is being probed: whoever cannot be its next probe goes to the next model.
   */
  view(): HealthView;
  /**
   * The clock of the view's times: milliseconds since the epoch. It does not go back when the system's clock is set
   * back, so how long a model stays out is the difference to this clock.
   */
  now(): number;
  /** While the aggregator cannot be reached: no model is to blame, and only one request a second can call one. */
  outage(): Outage | undefined;
  /**
   * Asks to send one attempt to a model. A model in HALF_OPEN admits one probe at a time; the permit carries the lease
   * and the epoch at which the attempt began. Undefined: not now (someone else probes, limited, an outage …).
   */
  admit(model: ModelKey, source: EvidenceSource): Permit | undefined;
  /** Whether a DEGRADED model's next request should be moved along the chain, drawn anew at each call. */
  shed(model: ModelKey): boolean;
}

/** Whose request an attempt serves. */
export interface EvidenceSource {
  /** A number for whoever holds the bearer token. */
  readonly caller: number;
  /**
   * Names the conversation; without a list of keys it is the same whatever the token, as tokens can be made up.
   * Undefined where the request's own fields may be why an answer is empty, unreadable or too expensive.
   */
  readonly conversation?: string | undefined;
  /** The same for costs above the hold; undefined where a field of the request may have a price of its own. */
  readonly billed?: string | undefined;
}

export interface Outage {
  readonly sinceMs: number;
  readonly reason: string;
  /** When the next call may be tried. */
  readonly retryAtMs: number;
}

export type HealthView = { readonly [key: ModelKey]: ModelHealth };

export interface ModelHealth {
  readonly state: HealthState;
  /** May be sent traffic now. */
  readonly routable: boolean;
  /** When the state began, milliseconds since the epoch, and why, in a few words (`5 failures in a row`). */
  readonly sinceMs: number;
  readonly reason: string;
  /** When an unroutable model may be tried again, milliseconds since the epoch. */
  readonly retryAtMs?: number;
}

/** Leave to send one attempt. `report` is to be called exactly once, with what came of it; later calls do nothing. */
export interface Permit {
  readonly model: ModelKey;
  readonly probe: boolean;
  /** The answer has begun: the next probe need not wait for its end, nor for the half minute of a lease. */
  answering(): void;
  report(verdict: Verdict): void;
}

/**
 * What one attempt says about its model (or about the aggregator in front of it). A `reason` is one of our own words,
 * such as a failure kind (`timed_out`): /healthz shows it to everybody, so text of the upstream's is left out.
 */
export type Verdict =
  | { readonly kind: "success"; readonly firstTokenMs: number }
  /** Time-outs, 5xx, error events, truncation. */
  | { readonly kind: "failure"; readonly reason: string; readonly retryAfterMs?: number | undefined }
  /** Unparsable event, empty answer with `stop` and no tool call, absurd usage. */
  | { readonly kind: "garbage"; readonly reason: string }
  /** 429. */
  | { readonly kind: "limited"; readonly retryAfterMs?: number | undefined }
  /** A listed model answered 404. */
  | { readonly kind: "delisted" }
  /** Cost came out above the hold. */
  | { readonly kind: "price_breach" }
  /** Connect, DNS and TLS failures: these speak of the aggregator. */
  | { readonly kind: "aggregator_failure"; readonly reason: string }
  /** A 4xx, or the page of a firewall or proxy: about the request or the account. The aggregator answers. */
  | { readonly kind: "refused" }
  /** The caller has left, or nothing was sent: proves nothing. */
  | { readonly kind: "ignored" };

/** A change of state, reported once. */
export type HealthChange =
  | Readonly<{ kind: "model"; model: ModelKey; from: HealthState; to: HealthState; reason: string; atMs: number }>
  | Readonly<{ kind: "aggregator"; to: "closed" | "open"; reason: string; atMs: number }>;
