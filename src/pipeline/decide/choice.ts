import type { ModelKey, Role } from "#domain/model.ts";
import type { Action, Cause, RouteHint, RoutingTask, RuntimeState } from "#domain/routing.ts";
import type { Snapshot } from "./snapshot.ts";

/**
 * What a rule wants done with a task, before money and health have their say.
 * `firm` choices are kept at the soft cap; the others step down from the senior to the worker model.
 */
export type Choice =
  | { readonly kind: "execute"; readonly role: Role; readonly cause: Cause; readonly firm: boolean }
  | { readonly kind: "scout"; readonly scout: ModelKey; readonly cause: Cause }
  | DecisionRefusal;

/** The gateway says no: nothing is sent anywhere. */
export interface DecisionRefusal {
  readonly kind: "refuse";
  readonly action: Extract<Action, "DENY" | "STOP_FOR_HUMAN">;
  readonly cause: Cause;
}

/** What each stage saw, in order, as `key=value`: numbers, enum words and model keys, never a caller's text. */
export type Evidence = string[];

/** What the privacy gate made of a task. */
export interface PrivacyVerdict {
  /** Whether a free model may see the task. */
  readonly freeAllowed: boolean;
  /** Set when the caller insisted on a free model that may not see the task. */
  readonly denied: Extract<Cause, "privacy_free_denied" | "privacy_scout_denied"> | undefined;
  /** The caller's hint, unless privacy forbids it. */
  readonly hint: RouteHint;
  /** The gate has denied, or dropped something; more may be withheld later (a scout call in the gray zone). */
  readonly blockApplied: boolean;
}

/** What the rules look at. */
export interface DecisionInput {
  readonly task: RoutingTask;
  readonly runtime: RuntimeState;
  readonly snapshot: Snapshot;
  readonly privacy: PrivacyVerdict;
  readonly score: number;
  readonly evidence: Evidence;
}
