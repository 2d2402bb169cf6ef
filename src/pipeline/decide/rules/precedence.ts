import type { Role } from "#domain/model.ts";
import type { Cause } from "#domain/routing.ts";
import type { Choice, DecisionInput } from "#pipeline/decide/choice.ts";
import { routable } from "#pipeline/decide/select/select-model.ts";
import { hardRuleFires } from "./hard-rules.ts";
import { wantsFree, wantsPro, wantsScout } from "./privacy.ts";
import { midpointTier, zoneOf } from "./score.ts";

/** One view of a task; undefined when it has none. */
type Rule = (input: DecisionInput) => Choice | undefined;

/** In the order in which they decide: the first that has a view wins. The score always has one. */
const rules: readonly Rule[] = [
  privacyDenial,
  attemptsExhausted,
  hardRule,
  forcedPro,
  reasoningHigh,
  explicitFree,
  scoutRequested,
  explicitFlash,
  hint,
];

/** Stages 1 to 3 joined: which rule decides, and what it wants. */
export function choose(input: DecisionInput): Choice {
  for (const rule of rules) {
    const choice = rule(input);
    if (choice !== undefined) return choice;
  }
  return byScore(input);
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

function forcedPro({ task, evidence }: DecisionInput): Choice | undefined {
  if (!wantsPro(task)) return undefined;
  evidence.push(task.explicit_route === "PRO" ? "explicit_route=PRO" : "pro=true");
  return firm("senior", "explicit_pro");
}

function reasoningHigh({ task, evidence }: DecisionInput): Choice | undefined {
  if (task.reasoning !== "HIGH") return undefined;
  evidence.push("reasoning=HIGH");
  return soft("senior", "reasoning_high");
}

/** Privacy has allowed it, or `privacyDenial` would have answered. */
function explicitFree({ task, evidence }: DecisionInput): Choice | undefined {
  if (!wantsFree(task)) return undefined;
  evidence.push("explicit_route=FREE_SCOUT");
  return soft("scout", "explicit_free");
}

/** One of the explicit routes: who asks for a scout lets it choose between flash and pro, so it beats explicit flash. */
function scoutRequested(input: DecisionInput): Choice | undefined {
  if (!wantsScout(input.task)) return undefined;
  input.evidence.push("scout=true");
  return (
    askScout(input, "scout_requested") ??
    soft(tierRole[midpointTier(input.score, input.snapshot.policy)], "scout_requested")
  );
}

function explicitFlash({ task, evidence }: DecisionInput): Choice | undefined {
  if (task.explicit_route !== "FLASH") return undefined;
  evidence.push("explicit_route=FLASH");
  return soft("worker", "explicit_flash");
}

function hint({ privacy, evidence }: DecisionInput): Choice | undefined {
  if (privacy.hint === "auto") return undefined;
  evidence.push(`hint=${privacy.hint}`);
  switch (privacy.hint) {
    case "pro":
      return soft("senior", "hint_pro");
    case "flash":
      return soft("worker", "hint_flash");
    case "free":
      return soft("scout", "hint_free");
  }
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

function firm(role: Role, cause: Cause): Choice {
  return { kind: "execute", role, cause, firm: true };
}

function soft(role: Role, cause: Cause): Choice {
  return { kind: "execute", role, cause, firm: false };
}
