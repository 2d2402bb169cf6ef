import type { RouteHint, RoutingTask } from "#domain/routing.ts";
import type { Evidence, PrivacyVerdict } from "#pipeline/decide/choice.ts";

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
