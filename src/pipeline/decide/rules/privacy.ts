import type { Cause, RouteHint, RoutingTask } from "#domain/routing.ts";
import type { Evidence } from "#pipeline/decide/choice.ts";

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

/** Stage 1. Fails closed: sensitive unless said otherwise, and repository context bars free models unless opted in. */
export function privacyOf(task: RoutingTask, evidence: Evidence): PrivacyVerdict {
  evidence.push(task.sensitive ? "sensitive=true" : "sensitive=false");
  if (task.repo_context_present) {
    evidence.push(
      "repo_context_present=true",
      task.repo_free_opt_in ? "repo_free_opt_in=true" : "repo_free_opt_in=false",
    );
  }
  const freeAllowed = !task.sensitive && (!task.repo_context_present || task.repo_free_opt_in);
  const hint = hintOf(task);
  if (freeAllowed) return { freeAllowed, denied: undefined, hint, blockApplied: false };

  const hintDropped = hint === "free";
  if (hintDropped) evidence.push("hint_dropped=free");
  const denied = wantsFree(task) ? "privacy_free_denied" : wantsScout(task) ? "privacy_scout_denied" : undefined;
  return { freeAllowed, denied, hint: hintDropped ? "auto" : hint, blockApplied: hintDropped || denied !== undefined };
}

/** `X-Pro: true` beside another explicit route (`smart-router-free`) reaches the task as `metadata.pro`. */
export function wantsPro(task: RoutingTask): boolean {
  return task.explicit_route === "PRO" || task.metadata["pro"] === true;
}

export function wantsFree(task: RoutingTask): boolean {
  return task.explicit_route === "FREE_SCOUT";
}

/** `X-Scout: true` reaches the task as `metadata.scout`, so that the dry run can say it too. */
export function wantsScout(task: RoutingTask): boolean {
  return task.metadata["scout"] === true;
}

/** A hint is `metadata.routing`; whatever is no known hint is none. */
function hintOf(task: RoutingTask): RouteHint {
  const hint = task.metadata["routing"];
  return hint === "pro" || hint === "flash" || hint === "free" ? hint : "auto";
}
