import type { Role } from "#domain/model.ts";
import type { Cause } from "#domain/routing.ts";
import type { Choice, DecisionInput } from "#pipeline/decide/choice.ts";
import { routable } from "#pipeline/decide/select/select-model.ts";
import { hardRuleFires } from "./hard-rules.ts";
import { wantsFree, wantsPro, wantsScout } from "./privacy.ts";
import { midpointTier, zoneOf } from "./score.ts";

/** Stages 1 to 3: which rule decides, and what it wants. The first with a view of the task wins; the score has one. */
export function choose(input: DecisionInput): Choice {
  return (
    privacyDenial(input) ??
    attemptsExhausted(input) ??
    hardRule(input) ??
    requested(input) ??
    hinted(input) ??
    byScore(input)
  );
}

function privacyDenial({ privacy }: DecisionInput): Choice | undefined {
  return privacy.denied && { kind: "refuse", action: "DENY", cause: privacy.denied };
}

function attemptsExhausted({ runtime, snapshot, evidence }: DecisionInput): Choice | undefined {
  const limit = snapshot.policy.limits.max_attempts;
  if (runtime.attempts < limit) return undefined;
  evidence.push(`attempts=${runtime.attempts}`, `max_attempts=${limit}`);
  return { kind: "refuse", action: "STOP_FOR_HUMAN", cause: "attempts_exhausted" };
}

function hardRule({ task, runtime, snapshot, evidence }: DecisionInput): Choice | undefined {
  return hardRuleFires(task, runtime, snapshot.policy, evidence) ? firm("senior", "hard_pro_rule") : undefined;
}

/** What the caller has asked for in so many words: again the first wins. */
function requested(input: DecisionInput): Choice | undefined {
  const { task, score, snapshot, evidence } = input;
  const seen = (entry: string, choice: Choice): Choice => {
    evidence.push(entry);
    return choice;
  };
  if (wantsPro(task))
    return seen(task.explicit_route === "PRO" ? "explicit_route=PRO" : "pro=true", firm("senior", "explicit_pro"));
  if (task.reasoning === "HIGH") return seen("reasoning=HIGH", soft("senior", "reasoning_high"));
  // Privacy has allowed it, or `privacyDenial` would have answered.
  if (wantsFree(task)) return seen("explicit_route=FREE_SCOUT", soft("scout", "explicit_free"));
  if (wantsScout(task)) {
    // Who asks for a scout lets it choose between flash and pro, so it beats explicit flash.
    evidence.push("scout=true");
    const byMidpoint = soft(tierRole[midpointTier(score, snapshot.policy)], "scout_requested");
    return askScout(input, "scout_requested") ?? byMidpoint;
  }
  return task.explicit_route === "FLASH" ? seen("explicit_route=FLASH", soft("worker", "explicit_flash")) : undefined;
}

function hinted({ privacy: { hint }, evidence }: DecisionInput): Choice | undefined {
  if (hint === "auto") return undefined;
  evidence.push(`hint=${hint}`);
  return soft(hintRole[hint], `hint_${hint}`);
}

function byScore(input: DecisionInput): Choice {
  const { score, privacy, snapshot, evidence } = input;
  const zone = zoneOf(score, snapshot.policy);
  if (zone === "flash") return soft("worker", "score_flash");
  if (zone === "pro") return soft("senior", "score_pro");
  if (!privacy.freeAllowed) evidence.push("scout_withheld=true");
  const scouted = privacy.freeAllowed ? askScout(input, "gray_zone_scout") : undefined;
  if (scouted !== undefined) return scouted;
  return midpointTier(score, snapshot.policy) === "pro"
    ? soft("senior", "gray_zone_pro")
    : soft("worker", "gray_zone_flash");
}

/** Asks the scout, or acts on what it has answered; undefined when there is no scout to ask. */
function askScout({ score, snapshot, evidence }: DecisionInput, cause: Cause): Choice | undefined {
  if (snapshot.verdict !== undefined) {
    evidence.push(`scout_verdict=${snapshot.verdict}`);
    const tier = snapshot.verdict === "none" ? midpointTier(score, snapshot.policy) : snapshot.verdict;
    return soft(tierRole[tier], cause);
  }
  const scout = snapshot.registry.byRole.scout;
  if (scout === undefined || !routable(scout, snapshot)) {
    evidence.push("scout_routable=false");
    return undefined;
  }
  return { kind: "scout", scout: scout.key, cause };
}

const tierRole = { flash: "worker", pro: "senior" } as const satisfies Record<string, Role>;
const hintRole = { ...tierRole, free: "scout" } as const satisfies Record<string, Role>;

function firm(role: Role, cause: Cause): Choice {
  return { kind: "execute", role, cause, firm: true };
}

function soft(role: Role, cause: Cause): Choice {
  return { kind: "execute", role, cause, firm: false };
}
